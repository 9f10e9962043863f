/* Prints what cuInit says: house_test.py runs it with good and bad settings. */
#include <stdio.h>

int cuInit(unsigned flags);

int main(void)
{
    printf("%d\n", cuInit(0));
    return 0;
}
