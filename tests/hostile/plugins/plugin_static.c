/* A plugin whose thread memory has to lie in the room that the loader left (initial-exec). */
__attribute__((tls_model("initial-exec"))) static _Thread_local int own[100] = {1, 2, 3};

__attribute__((visibility("default"))) int plugin_static(void);

int plugin_static(void)
{
    own[99] += own[2];
    return own[99];
}
