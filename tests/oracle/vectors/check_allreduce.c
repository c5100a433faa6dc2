/* Holds MPI_Allreduce to refcoll's test vectors, out of place and in place:
   mpicc check_allreduce.c -o check && mpirun -n 4 ./check DIR/all_reduce */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static char id[100], op[32], dtype[32], flags[1000], path[4096];
static int in_place, length, failed;
static long double input[1024], low[1024], high[1024]; /* holds each dtype below exactly */
static const char *const NAMES[] = {"sum", "prod", "min", "max"};
static const MPI_Op OPS[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};

static int read_vector(FILE *file) {
    long double *rows[] = {input, low, high};
    int n = fscanf(file, " vector %99s %31s %31s %*d%*d %d %999s", id, op, dtype, &in_place, flags);
    for (int k = 0; k < 3; k++) {
        n += fscanf(file, "%*s %d", &length);
        for (int i = 0; i < length; i++) n += fscanf(file, "%Lf", &rows[k][i]);
    }
    return n == 5 + 3 + 3 * length;
}

static void judge(int i, long double got) {
    if ((low[i] <= got && got <= high[i]) || (low[i] != low[i] && got != got)) return;
    printf("FAIL %s [%s] number %d: %La, not %La to %La\n", id, flags, i, got, low[i], high[i]);
    failed++;
}

static void try(MPI_Op op, int again) {
#define DTYPE(NAME, C, MPI)                                                                        \
    if (strcmp(dtype, NAME) == 0) {                                                                \
        C x[1024], y[1024];                                                                        \
        for (int i = 0; i < length; i++) x[i] = y[i] = (C)input[i];                                \
        MPI_Allreduce(again ? MPI_IN_PLACE : x, y, length, MPI, op, MPI_COMM_WORLD);               \
        for (int i = 0; i < length; i++) judge(i, y[i]);                                           \
    }
    DTYPE("int32", int32_t, MPI_INT32_T) DTYPE("uint32", uint32_t, MPI_UINT32_T)
    DTYPE("int64", int64_t, MPI_INT64_T) DTYPE("uint64", uint64_t, MPI_UINT64_T)
    DTYPE("float32", float, MPI_FLOAT) DTYPE("float64", double, MPI_DOUBLE)
}

int main(int argc, char **argv) {
    int rank, size, vectors;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s-n%d-rank%d.txt", argv[1], size, rank);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "refcoll-vectors 1 %*s %*d %*d %d", &vectors) != 1)
        MPI_Abort(MPI_COMM_WORLD, 2);
    while (vectors-- > 0) {
        if (!read_vector(file)) MPI_Abort(MPI_COMM_WORLD, 2);
        for (int again = 0; again <= in_place; again++)
            for (int k = 0; k < 4; k++)
                if (strcmp(op, NAMES[k]) == 0) try(OPS[k], again);
    }
    MPI_Finalize();
    return failed > 0;
}
