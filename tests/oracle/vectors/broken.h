/* MPI_Allreduce with the fault whose number is in $BROKEN: the vectors must find each.

       mpicc -include broken.h check_allreduce.c ... */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LAST_RANK = 1, NARROW, TAIL, DOUBLED, IN_PLACE_ONLY, FLUSHED, THROUGH_DOUBLES, SIGNED };
#define BROKEN atoi(getenv("BROKEN"))

static int without_last(const void *x, void *out, int count, MPI_Datatype of, MPI_Op op) {
    int me, size;
    MPI_Comm some;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, me < size - 1 ? 0 : MPI_UNDEFINED, me, &some);
    if (some != MPI_COMM_NULL) {
        PMPI_Allreduce(x, out, count, of, op, some);
        MPI_Comm_free(&some);
    }
    return MPI_Bcast(out, count, of, 0, MPI_COMM_WORLD);
}

/* Each element of one C type replaced by an expression in it. */
#define EACH(TYPE, EXPRESSION)                                                                    \
    for (int i = 0; i < count; i++) {                                                             \
        TYPE each = ((TYPE *)out)[i];                                                             \
        ((TYPE *)out)[i] = EXPRESSION;                                                            \
    }

static float narrowed(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= 0xffff0000u;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

static int broken(const void *given, void *out, int count, MPI_Datatype of, MPI_Op op,
                  MPI_Comm comm) {
    int size, in_place = given == MPI_IN_PLACE;
    MPI_Aint lower, extent;
    MPI_Comm_size(comm, &size);
    MPI_Type_get_extent(of, &lower, &extent);
    size_t bytes = (size_t)(count * extent), kept = (size_t)((count - count % size) * extent);
    char *x = malloc(bytes + 1), *first = malloc(bytes + 1), *before = malloc(bytes + 1);
    memcpy(x, in_place ? out : given, bytes);
    memcpy(first, x, bytes);
    memcpy(before, out, bytes);
    PMPI_Allreduce(x, out, count, of, op, comm);
    int last = count / size; /* elements of the last chunk */
    char *chunk = (char *)out + (count - last) * extent;
    if (BROKEN == LAST_RANK) without_last(x + (count - last) * extent, chunk, last, of, op);
    if (BROKEN == NARROW && of == MPI_FLOAT) EACH(float, narrowed(each))
    if (BROKEN == TAIL) memcpy((char *)out + kept, before + kept, bytes - kept);
    if (BROKEN == DOUBLED && (op == MPI_SUM || op == MPI_PROD)) {
        MPI_Bcast(first, count, of, 0, comm);
        MPI_Reduce_local(first, out, count, of, op);
    }
    if (BROKEN == IN_PLACE_ONLY && in_place && count) memcpy(out, before, (size_t)extent);
    if (BROKEN == FLUSHED && of == MPI_FLOAT)
        EACH(float, each > -0x1p-126f && each < 0x1p-126f ? 0 : each)
    if (BROKEN == THROUGH_DOUBLES && of == MPI_INT64_T) EACH(int64_t, (int64_t)(double)each)
    if (BROKEN == SIGNED && of == MPI_UINT32_T)
        PMPI_Allreduce(x, out, count, MPI_INT32_T, op, comm);
    free(x), free(first), free(before);
    return MPI_SUCCESS;
}
#define MPI_Allreduce broken
