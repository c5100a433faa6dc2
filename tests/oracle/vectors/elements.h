/* What MPI and C make of the vectors' dtypes and operators. */
#include <inttypes.h>
#include <mpi.h>
#include <stdbool.h>

typedef struct {
    const char *name;
    MPI_Datatype mpi;
    size_t part;     /* bytes of a part */
    int parts;       /* of an element: 2 of a complex number, 4 of a matrix */
    void (*parse)(const char *word, void *part);
    int (*within)(const void *got, const void *low, const void *high); /* one part; NaN is NaN */
    void (*show)(const void *part, char *text);
} type;

#define DEFINE(T, READ, FORMAT, SHOWN)                                                            \
    static void parse_##T(const char *word, void *part) { *(T *)part = (T)READ; }                 \
    static int within_##T(const void *got, const void *low, const void *high) {                   \
        T x = *(const T *)got, l = *(const T *)low, h = *(const T *)high;                         \
        return (l <= x && x <= h) || (l != l && h != h && x != x);                                \
    }                                                                                             \
    static void show_##T(const void *part, char *text) {                                          \
        snprintf(text, sizeof(word), FORMAT, (SHOWN)*(const T *)part);                            \
    }
DEFINE(bool, strtol(word, NULL, 10), "%d", int)
DEFINE(int8_t, strtoll(word, NULL, 10), "%lld", long long)
DEFINE(int16_t, strtoll(word, NULL, 10), "%lld", long long)
DEFINE(int32_t, strtoll(word, NULL, 10), "%lld", long long)
DEFINE(int64_t, strtoll(word, NULL, 10), "%lld", long long)
DEFINE(uint8_t, strtoull(word, NULL, 10), "%llu", unsigned long long)
DEFINE(uint16_t, strtoull(word, NULL, 10), "%llu", unsigned long long)
DEFINE(uint32_t, strtoull(word, NULL, 10), "%llu", unsigned long long)
DEFINE(uint64_t, strtoull(word, NULL, 10), "%llu", unsigned long long)
DEFINE(float, strtof(word, NULL), "%a", double)
DEFINE(double, strtod(word, NULL), "%a", double)

typedef char string[32];
static void parse_string(const char *word, void *part) { strncpy(part, word, sizeof(string) - 1); }
static int within_string(const void *got, const void *low, const void *high) {
    (void)high;
    return strcmp(got, low) == 0;
}
static void show_string(const void *part, char *text) { strcpy(text, part); }

static MPI_Datatype matrix_type, string_type;
static MPI_Op matmul, concatenate;

/* MPI: the lower rank's operand is the first argument, and the result goes to the second. */
static void multiply(void *left, void *right, int *count, MPI_Datatype *of) {
    int64_t *a = left, *b = right;
    (void)of;
    for (int i = 0; i < *count; i++, a += 4, b += 4) {
        int64_t product[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                              a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        memcpy(b, product, sizeof product);
    }
}

static void join(void *left, void *right, int *count, MPI_Datatype *of) {
    string *a = left, *b = right, joined;
    (void)of;
    for (int i = 0; i < *count; i++) {
        snprintf(joined, sizeof joined, "%.15s%.15s", a[i], b[i]);
        memcpy(b[i], joined, sizeof joined);
    }
}

static void make_operators(void) {
    MPI_Type_contiguous(4, MPI_INT64_T, &matrix_type);
    MPI_Type_contiguous(sizeof(string), MPI_CHAR, &string_type);
    MPI_Type_commit(&matrix_type);
    MPI_Type_commit(&string_type);
    MPI_Op_create(multiply, 0, &matmul);
    MPI_Op_create(join, 0, &concatenate);
}

static void free_operators(void) {
    MPI_Type_free(&matrix_type), MPI_Type_free(&string_type);
    MPI_Op_free(&matmul), MPI_Op_free(&concatenate);
}

/* False for dtypes that MPI does not have. */
static int find_type(const char *name, type *found) {
#define ROW(NAME, T, MPI, PARTS) {NAME, MPI, sizeof(T), PARTS, parse_##T, within_##T, show_##T}
    const type types[] = {
        ROW("bool", bool, MPI_C_BOOL, 1),           ROW("int8", int8_t, MPI_INT8_T, 1),
        ROW("int16", int16_t, MPI_INT16_T, 1),      ROW("int32", int32_t, MPI_INT32_T, 1),
        ROW("int64", int64_t, MPI_INT64_T, 1),      ROW("uint8", uint8_t, MPI_UINT8_T, 1),
        ROW("uint16", uint16_t, MPI_UINT16_T, 1),   ROW("uint32", uint32_t, MPI_UINT32_T, 1),
        ROW("uint64", uint64_t, MPI_UINT64_T, 1),   ROW("float32", float, MPI_FLOAT, 1),
        ROW("float64", double, MPI_DOUBLE, 1),      ROW("complex64", float, MPI_C_FLOAT_COMPLEX, 2),
        ROW("complex128", double, MPI_C_DOUBLE_COMPLEX, 2),
        ROW("matrix2x2", int64_t, matrix_type, 4),  ROW("string", string, string_type, 1)};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0) {
            *found = types[i];
            return 1;
        }
    return 0;
}

/* False for operators that MPI does not have, or not for the dtype. */
static int find_op(const char *name, const char *dtype, MPI_Op *found) {
    const struct {
        const char *name;
        MPI_Op op;
    } ops[] = {{"sum", MPI_SUM}, {"prod", MPI_PROD}, {"min", MPI_MIN}, {"max", MPI_MAX},
               {"bitwise_and", MPI_BAND}, {"bitwise_or", MPI_BOR}, {"bitwise_xor", MPI_BXOR},
               {"logical_and", MPI_LAND}, {"logical_or", MPI_LOR}, {"logical_xor", MPI_LXOR},
               {"matmul", matmul}, {"concatenate", concatenate}};
    if (strcmp(dtype, "bool") == 0 && strncmp(name, "logical", 7)) return 0;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(ops[i].name, name) == 0) {
            *found = ops[i].op;
            return 1;
        }
    return 0;
}
