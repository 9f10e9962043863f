# What ctest reads before it runs a test: the machine profiles of whoever runs the tests are none of theirs.
unset(ENV{XFERSCOPE_PROFILE})
set(ENV{XDG_DATA_HOME} "/nonexistent")
# A check of our own code that fails ends the test that it fails in.
set(ENV{XFERSCOPE_CHECKS} "abort")
