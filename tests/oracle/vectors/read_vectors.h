/* Reads the text form of refcoll's test vectors: words and lines, see docs/vectors.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 64
typedef char word[80];

typedef struct {
    char id[128], op[32], dtype[32], compare[32], flags[1024];
    int count, root, in_place;
    int lengths[MOST_RANKS];  /* of each rank's input, in elements */
    word *inputs[MOST_RANKS]; /* words_of(dtype) words an element */
    int length, rows;         /* of this rank's result; no rows where it gets nothing */
    word *row[2];             /* what is right; or its two ends; or with NaNs and without */
} vector;

static void refuse(const char *why) {
    fprintf(stderr, "these are no vectors of version 1: %s\n", why);
    exit(2);
}

static int words_of(const char *dtype) {
    return strncmp(dtype, "complex", 7) == 0 ? 2 : strcmp(dtype, "matrix2x2") == 0 ? 4 : 1;
}

static word *read_words(FILE *file, int many) {
    word *words = malloc(sizeof(word) * (size_t)(many + 1));
    for (int i = 0; i < many; i++)
        if (fscanf(file, "%79s", words[i]) != 1) refuse("a row ends early");
    return words;
}

/* The number of vectors in the file. */
static int read_head(FILE *file, const char *collective, int ranks) {
    char name[32];
    int version, size, many;
    if (fscanf(file, "refcoll-vectors %d %31s %d %d", &version, name, &size, &many) != 4)
        refuse("no first line");
    if (version != 1 || strcmp(name, collective) || size != ranks || ranks > MOST_RANKS)
        refuse("other version, collective or number of ranks");
    return many;
}

static void read_results(FILE *file, int rank, vector *v) {
    int groups, first, last, length, rows;
    if (fscanf(file, " results %d", &groups) != 1) refuse("no results");
    v->rows = v->length = 0;
    while (groups-- > 0) {
        if (fscanf(file, " result %d %d %d %d", &first, &last, &length, &rows) != 4 || rows > 2)
            refuse("no result");
        for (int i = 0; i < rows; i++) {
            if (fscanf(file, " %*[r]%*[o]%*[w]") != 0) refuse("no row");
            word *words = read_words(file, length * words_of(v->dtype));
            if (first <= rank && rank <= last) {
                v->row[i] = words;
                v->rows = rows;
                v->length = length;
            } else {
                free(words);
            }
        }
    }
}

static void read_vector(FILE *file, int ranks, int rank, vector *v) {
    if (fscanf(file, " vector %127s %31s %31s %d %d %d %31s %1023s", v->id, v->op, v->dtype,
               &v->count, &v->root, &v->in_place, v->compare, v->flags) != 8)
        refuse("no vector");
    for (int each = 0; each < ranks; each++) {
        int said;
        if (fscanf(file, " input %d %d", &said, &v->lengths[each]) != 2 || said != each)
            refuse("no input");
        v->inputs[each] = read_words(file, v->lengths[each] * words_of(v->dtype));
    }
    read_results(file, rank, v);
}

static void free_vector(vector *v, int ranks) {
    for (int each = 0; each < ranks; each++) free(v->inputs[each]);
    for (int i = 0; i < v->rows; i++) free(v->row[i]);
}
