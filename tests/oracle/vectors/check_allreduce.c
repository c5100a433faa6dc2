/* Holds MPI_Allreduce to refcoll's test vectors, out of place and in place.

       mpicc check_allreduce.c -o check && mpirun -n 4 ./check all_reduce-n4.txt [FLAG ...]

   Vectors with one of the FLAGs are left out.  Exit status 0 if all others hold, else 1. */
#include "read_vectors.h"
#include "elements.h"
#ifdef BROKEN
#include "broken.h"
#endif

static int rank, ranks;

static void *parsed(const type *t, word *words, int length) {
    char *made = calloc((size_t)length + 1, t->part * (size_t)t->parts);
    for (int i = 0; i < length * t->parts; i++) t->parse(words[i], made + (size_t)i * t->part);
    return made;
}

/* The first wrong part, or -1. */
static int wrong(const type *t, const char *got, const char *low, const char *high, int length) {
    for (int i = 0; i < length * t->parts; i++) {
        size_t at = (size_t)i * t->part;
        if (!t->within(got + at, low + at, high + at)) return i;
    }
    return -1;
}

/* Where the second of two rules is broken, one of which must hold throughout; or -1. */
static int neither(const type *t, const char *got, const char *one, const char *other, int length) {
    int a = wrong(t, got, one, one, length), b = wrong(t, got, other, other, length);
    return a < 0 || b < 0 ? -1 : a > b ? a : b;
}

/* Whether every rank has rank 0's bits; rounding may differ from theirs, but not among them. */
static int agreed(const vector *v, const char *got, size_t bytes) {
    if (strcmp(v->compare, "interval")) return 1;
    char *first = malloc(bytes + 1);
    memcpy(first, got, bytes);
    MPI_Bcast(first, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    int same = memcmp(first, got, bytes) == 0;
    free(first);
    return same;
}

static int holds(const vector *v, const type *t, MPI_Op op, int in_place) {
    size_t bytes = t->part * (size_t)(t->parts * v->length);
    char *x = parsed(t, v->inputs[rank], v->count), *got = calloc(bytes + 1, 1), text[80] = "";
    if (in_place) memcpy(got, x, bytes);
    MPI_Allreduce(in_place ? MPI_IN_PLACE : x, got, v->count, t->mpi, op, MPI_COMM_WORLD);
    char *low = parsed(t, v->row[0], v->length), *high = parsed(t, v->row[v->rows - 1], v->length);
    int at = wrong(t, got, low, high, v->length);
    int either = strcmp(v->compare, "either") == 0;
    if (either) at = neither(t, got, low, high, v->length);
    int same = agreed(v, got, bytes);
    if (at >= 0) t->show(got + (size_t)at * t->part, text);
    if (at >= 0)
        printf("FAIL %s [%s]%s rank %d element %d: got %s, wanted %s%s%s\n", v->id, v->flags,
               in_place ? " in place" : "", rank, at / t->parts, text, v->row[0][at],
               v->rows > 1 ? (either ? " or " : " to ") : "", v->rows > 1 ? v->row[1][at] : "");
    else if (!same)
        printf("FAIL %s [%s] rank %d has other bits than rank 0\n", v->id, v->flags, rank);
    free(x), free(got), free(low), free(high);
    return at < 0 && same;
}

static void show_library(void) {
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(name, &length);
    if (rank == 0) printf("%.*s\n", (int)strcspn(name, "\n"), name);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    make_operators();
    show_library();
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file) refuse("name a file that can be read");
    int many = read_head(file, "all_reduce", ranks), skipped = 0, failed = 0, all;
    for (int number = 0; number < many; number++) {
        static vector v;
        type t;
        MPI_Op op = MPI_OP_NULL;
        read_vector(file, ranks, rank, &v);
        int skip = !find_type(v.dtype, &t) || !find_op(v.op, v.dtype, &op);
        for (int i = 2; i < argc; i++) skip |= strstr(v.flags, argv[i]) != NULL;
        skipped += skip;
        for (int in_place = 0; !skip && in_place <= v.in_place; in_place++)
            failed += !holds(&v, &t, op, in_place);
        free_vector(&v, ranks);
    }
    fclose(file);
    MPI_Reduce(&failed, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s: %d vectors, %d skipped, %d results wrong over all ranks\n",
               all ? "does not hold" : "holds", many, skipped, all);
    free_operators();
    MPI_Finalize();
    return failed > 0;
}
