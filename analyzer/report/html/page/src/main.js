const report = JSON.parse(document.getElementById('report').textContent);
document.title = `xferscope: ${report.run.program ?? report.run.trace}`;
