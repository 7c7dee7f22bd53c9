// What libjpeg does alone, for bench/loader to compare with.
//
//   jpeg_loop make FOLDER COUNT SIZE   writes so many pictures of SIZE x SIZE pixels into FOLDER, which must exist
//   jpeg_loop time FOLDER COUNT        decodes each of them once, from memory; prints the pictures in a CPU second
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>

static void fail(const char *what) {
  fprintf(stderr, "jpeg_loop: %s\n", what);
  exit(1);
}

static FILE *open_picture(const char *folder, int number, const char *mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%06d.jpg", folder, number);
  FILE *file = fopen(path, mode);
  if (!file) fail(path);
  return file;
}

// Waves with noise over them: about as hard to decode as a photograph.
static void draw_row(int number, int y, int size, JSAMPLE *row) {
  for (int x = 0; x < size; x++)
    for (int c = 0; c < 3; c++) {
      const double wave = sin(0.03 * (x + 7 * number)) * cos(0.05 * (y + 11 * c));
      row[3 * x + c] = (JSAMPLE)(128 + 90 * wave + rand() % 24);
    }
}

static void make(const char *folder, int number, int size) {
  struct jpeg_compress_struct info;
  struct jpeg_error_mgr errors;
  FILE *file = open_picture(folder, number, "wb");
  JSAMPROW row = malloc((size_t)size * 3);
  if (!row) fail("no memory");
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_stdio_dest(&info, file);
  info.image_width = info.image_height = (JDIMENSION)size;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 90, TRUE);
  jpeg_start_compress(&info, TRUE);
  for (int y = 0; y < size; y++) {
    draw_row(number, y, size, row);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  free(row);
  fclose(file);
}

static unsigned char *load(const char *folder, int number, size_t *bytes) {
  FILE *file = open_picture(folder, number, "rb");
  fseek(file, 0, SEEK_END);
  *bytes = (size_t)ftell(file);
  rewind(file);
  unsigned char *data = malloc(*bytes);
  if (!data || fread(data, 1, *bytes, file) != *bytes) fail("a picture that cannot be read");
  fclose(file);
  return data;
}

static void decode(const unsigned char *data, size_t bytes) {
  struct jpeg_decompress_struct info;
  struct jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, data, bytes);
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  JSAMPROW row = malloc((size_t)info.output_width * 3);
  if (!row) fail("no memory");
  while (info.output_scanline < info.output_height) jpeg_read_scanlines(&info, &row, 1);
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  free(row);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void time_all(const char *folder, int count) {
  double seconds = 0;
  for (int i = 0; i < count; i++) {
    size_t bytes;
    unsigned char *data = load(folder, i, &bytes);
    const double begun = now();
    decode(data, bytes);
    seconds += now() - begun;
    free(data);
  }
  printf("%.1f\n", count / seconds);
}

int main(int argc, char **argv) {
  const int count = argc > 3 ? atoi(argv[3]) : 0;
  if (argc == 5 && !strcmp(argv[1], "make"))
    for (int i = 0; i < count; i++) make(argv[2], i, atoi(argv[4]));
  else if (argc == 4 && !strcmp(argv[1], "time"))
    time_all(argv[2], count);
  else
    return 64;
  return 0;
}
