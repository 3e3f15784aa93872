/*
 * Clients of a gateway, on loopback, in one thread: `load --port PORT ...`; --help lists the rest.
 *
 * Says "measuring" when the warm-up is over (of held streams: when all have begun), "measured" when the time is up, and then
 * one line of JSON. Every answer is read to its last byte; whatever is not as it should be is counted, never passed over.
 * In an open loop a request counts from the instant at which it was due, so that a stall is not hidden by its own wake.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { LINE_ROOM = 16384, REQUEST_ROOM = 8192, TAIL_ROOM = 65536, READ_ROOM = 262144, MOST_HISTORIES = 64, MOST_TURNS = 16, MOST_ERRORS = 1000 };
enum loop { CLOSED, OPEN, STREAMS, HELD };
enum phase { RESTING, IN_HEAD, IN_BODY, IN_CHUNK_SIZE, IN_CHUNK, AFTER_CHUNK, IN_TRAILER, UNTIL_CLOSED };

static struct {
  int port, connections, bodyBytes, turns;
  enum loop loop;
  double rate, seconds, warmSeconds;
  long long sessions, requests;
  bool isRandom;
  const char *session, *token, *path, *model, *headers;
} options = {.connections = 1, .bodyBytes = 1000, .turns = 1, .seconds = 3, .sessions = 64, .session = "none", .token = "", .path = "/", .model = "bench", .headers = ""};

struct samples {
  double *values;
  size_t count, room;
};

struct connection {
  int fd, status, lineLength, eventDigits;
  enum phase phase;
  bool isChunked, isClosing, hasBody, isSending;
  long long left, events;
  uint64_t beganNs, eventNs, lastEventNs;
  char line[LINE_ROOM];
  /* The request under way: its head, what all requests of a conversation begin with, and the rest. */
  char head[REQUEST_ROOM], *tail;
  struct iovec parts[3];
  int partAt;
};

static int poller;
static struct connection **resting;
static int restingCount;
static uint64_t *due;
static size_t dueFrom, dueTo, dueRoom;
static char *histories[MOST_HISTORIES];
static int historyLength[MOST_HISTORIES];
static struct samples latencies, firstBytes, delays;
static long long started, finished, failed, wrongStatus, cutShort, eventCount, bodyCount, wantedEvents = -1, streamsBegun;
static uint64_t measureFromNs, measureToNs, randomState = 88172645463325252ull;
static bool isMeasuring, isOver;

static uint64_t nowNs(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void addSample(struct samples *samples, double value) {
  if (samples->count == samples->room) {
    samples->room = samples->room ? samples->room * 2 : 65536;
    samples->values = realloc(samples->values, samples->room * sizeof(double));
  }
  samples->values[samples->count++] = value;
}

static int byValue(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double quantile(const struct samples *samples, double share) {
  return samples->count == 0 ? 0 : samples->values[(size_t)(share * (double)(samples->count - 1) + 0.5)];
}

static uint64_t randomNumber(void) {
  randomState ^= randomState << 13;
  randomState ^= randomState >> 7;
  return randomState ^= randomState << 17;
}

/* ── requests ── */

static int appendMessage(char *into, const char *role, int history, int bytes) {
  int at = sprintf(into, "{\"role\":\"%s\",\"content\":\"chat %d ", role, history);
  for (int i = 0; i < bytes; i++) into[at++] = i % 8 == 7 ? ' ' : (char)('a' + (i * 11 + history) % 26);
  return at + sprintf(into + at, "\"}");
}

static void prepareHistory(int number) {
  const bool isStream = options.loop == STREAMS || options.loop == HELD;
  char *text = histories[number] = malloc((size_t)options.bodyBytes + 4096);
  int at = sprintf(text, "{\"model\":\"%s\",\"max_tokens\":1024,\"stream\":%s,\"messages\":[", options.model, isStream ? "true" : "false");
  const int most = 900, frame = 64;
  /* The last word is the user's. */
  for (int message = 0; message == 0 || at < options.bodyBytes - frame || message % 2 == 0; message++) {
    int bytes = options.bodyBytes - at - frame;
    if (bytes > most) bytes = most;
    if (bytes < 8) bytes = 8;
    if (message > 0) text[at++] = ',';
    at += appendMessage(text + at, message % 2 == 0 ? "user" : "assistant", number, bytes);
  }
  historyLength[number] = at;
}

static void prepareRequest(struct connection *connection) {
  const long long number = started++;
  const long long session = options.isRandom ? (long long)(randomNumber() % (uint64_t)options.sessions) : number % options.sessions;
  const int history = (int)(session % MOST_HISTORIES);
  const int turns = 1 + (int)((number / options.sessions) % options.turns);
  int tail = 0;
  /* A conversation that goes on: what was said so far, and one message more each time. */
  for (int turn = 1; turn < turns; turn++) {
    connection->tail[tail++] = ',';
    tail += appendMessage(connection->tail + tail, "assistant", history, 40 + turn);
    connection->tail[tail++] = ',';
    tail += appendMessage(connection->tail + tail, "user", history, 60 + turn);
  }
  connection->tail[tail++] = ']';
  if (strcmp(options.session, "field") == 0) tail += sprintf(connection->tail + tail, ",\"session_id\":\"session-%012lld\"", session);
  connection->tail[tail++] = '}';

  char named[64] = "";
  if (strcmp(options.session, "header") == 0) sprintf(named, "x-session-id: session-%012lld\r\n", session);
  int head = snprintf(connection->head, REQUEST_ROOM,
                      "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
                      "Accept: application/json\r\nUser-Agent: OpenAI/JS 7.59.0\r\nX-Stainless-Lang: js\r\nX-Stainless-Package-Version: 7.59.0\r\n"
                      "X-Stainless-OS: Linux\r\nX-Stainless-Arch: x64\r\nX-Stainless-Runtime: node\r\n%s%sContent-Length: %d\r\n\r\n",
                      options.path, options.port, options.token, named, options.headers, historyLength[history] + tail);
  connection->parts[0] = (struct iovec){connection->head, (size_t)head};
  connection->parts[1] = (struct iovec){histories[history], (size_t)historyLength[history]};
  connection->parts[2] = (struct iovec){connection->tail, (size_t)tail};
  connection->partAt = 0;
}

/* ── connections ── */

static void watch(struct connection *connection, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = connection};
  epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &event);
}

static void connectAnew(struct connection *connection) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int yes = 1;
  connection->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connection->fd < 0 || connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0) {
    perror("load: cannot connect");
    exit(1);
  }
  setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  epoll_ctl(poller, EPOLL_CTL_ADD, connection->fd, &event);
  connection->isSending = false;
}

static void sendOn(struct connection *connection) {
  while (connection->partAt < 3) {
    struct msghdr parts = {.msg_iov = connection->parts + connection->partAt, .msg_iovlen = (size_t)(3 - connection->partAt)};
    ssize_t sent = sendmsg(connection->fd, &parts, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      /* A broken connection tells itself where it is read. */
      if (errno == EAGAIN && !connection->isSending) watch(connection, EPOLLIN | EPOLLOUT);
      connection->isSending = errno == EAGAIN;
      return;
    }
    while (connection->partAt < 3 && (size_t)sent >= connection->parts[connection->partAt].iov_len) sent -= (ssize_t)connection->parts[connection->partAt++].iov_len;
    if (connection->partAt == 3) break;
    connection->parts[connection->partAt].iov_base = (char *)connection->parts[connection->partAt].iov_base + sent;
    connection->parts[connection->partAt].iov_len -= (size_t)sent;
  }
  if (connection->isSending) watch(connection, EPOLLIN);
  connection->isSending = false;
}

static void begin(struct connection *connection, uint64_t beganNs) {
  prepareRequest(connection);
  connection->beganNs = beganNs;
  connection->phase = IN_HEAD;
  connection->lineLength = connection->status = connection->eventDigits = 0;
  connection->isChunked = connection->isClosing = connection->hasBody = false;
  connection->left = -1;
  connection->events = 0;
  connection->lastEventNs = 0;
  sendOn(connection);
}

static bool mayBegin(void) {
  return !isOver && (options.requests == 0 || started < options.requests);
}

static void rest(struct connection *connection) {
  connection->phase = RESTING;
  if (options.loop == OPEN && dueFrom < dueTo) begin(connection, due[dueFrom++]);
  else if ((options.loop == CLOSED || options.loop == STREAMS) && mayBegin()) begin(connection, nowNs());
  else resting[restingCount++] = connection;
}

static void reconnect(struct connection *connection) {
  close(connection->fd);
  connectAnew(connection);
}

static void finish(struct connection *connection) {
  const uint64_t now = nowNs();
  if (isMeasuring && !isOver) {
    finished++;
    addSample(&latencies, (double)(now - connection->beganNs) / 1e3);
  }
  /* What is wrong during the warm-up is wrong as well. */
  if (connection->status != 200) wrongStatus++;
  else if (wantedEvents >= 0 && connection->events != wantedEvents) cutShort++;
  if (connection->isClosing) reconnect(connection);
  rest(connection);
}

static void takeEvent(struct connection *connection) {
  const uint64_t now = nowNs();
  if (connection->events++ == 0) streamsBegun++;
  connection->lastEventNs = now;
  if (!isMeasuring || isOver) return;
  eventCount++;
  addSample(&delays, now > connection->eventNs ? (double)(now - connection->eventNs) / 1e3 : 0);
}

/* Events carry the time at which they were written, as @nanoseconds@. */
static void readEvents(struct connection *connection, const char *bytes, long long count) {
  for (long long at = 0; at < count; at++) {
    const char byte = bytes[at];
    if (connection->eventDigits == 0) {
      const char *found = memchr(bytes + at, '@', (size_t)(count - at));
      if (found == NULL) return;
      at = found - bytes;
      connection->eventDigits = 1;
      connection->eventNs = 0;
    } else if (byte >= '0' && byte <= '9') {
      connection->eventNs = connection->eventNs * 10 + (uint64_t)(byte - '0');
      connection->eventDigits++;
    } else {
      if (byte == '@' && connection->eventDigits > 1) takeEvent(connection);
      connection->eventDigits = 0;
    }
  }
}

static void readBody(struct connection *connection, const char *bytes, long long count) {
  if (isMeasuring && !isOver) {
    bodyCount += count;
    if (!connection->hasBody && options.loop == STREAMS) addSample(&firstBytes, (double)(nowNs() - connection->beganNs) / 1e3);
  }
  connection->hasBody = true;
  if (options.loop == STREAMS || options.loop == HELD) readEvents(connection, bytes, count);
}

/* One line of a head: true once the head has ended. */
static bool readHeadLine(struct connection *connection) {
  const char *line = connection->line;
  if (connection->status == 0) connection->status = strncmp(line, "HTTP/1.1 ", 9) == 0 ? atoi(line + 9) : -1;
  else if (strncasecmp(line, "content-length:", 15) == 0) connection->left = atoll(line + 15);
  else if (strncasecmp(line, "transfer-encoding:", 18) == 0) connection->isChunked = strcasestr(line, "chunked") != NULL;
  else if (strncasecmp(line, "connection:", 11) == 0) connection->isClosing = strcasestr(line, "close") != NULL;
  return connection->lineLength == 0;
}

static bool endsLine(struct connection *connection, char byte) {
  if (byte == '\n') {
    connection->line[connection->lineLength] = 0;
    return true;
  }
  if (byte != '\r' && connection->lineLength < LINE_ROOM - 1) connection->line[connection->lineLength++] = byte;
  return false;
}

/* False if the answer is not HTTP, or comes unasked. */
static bool take(struct connection *connection, const char *bytes, long long count) {
  for (long long at = 0; at < count;) {
    switch (connection->phase) {
      case RESTING:
        return false;
      case IN_HEAD: {
        if (!endsLine(connection, bytes[at++])) break;
        const bool isEnd = readHeadLine(connection);
        connection->lineLength = 0;
        if (connection->status < 0) return false;
        if (!isEnd) break;
        if (connection->status == 100) connection->status = 0;
        else if (connection->isChunked) connection->phase = IN_CHUNK_SIZE;
        else if (connection->left < 0) connection->phase = UNTIL_CLOSED;
        else if (connection->left > 0) connection->phase = IN_BODY;
        else finish(connection);
        break;
      }
      case IN_BODY:
      case IN_CHUNK: {
        const long long part = count - at < connection->left ? count - at : connection->left;
        readBody(connection, bytes + at, part);
        at += part;
        connection->left -= part;
        if (connection->left > 0) break;
        if (connection->phase == IN_CHUNK) connection->phase = AFTER_CHUNK;
        else finish(connection);
        break;
      }
      case AFTER_CHUNK:
        if (bytes[at++] == '\n') connection->phase = IN_CHUNK_SIZE;
        break;
      case IN_CHUNK_SIZE:
        if (!endsLine(connection, bytes[at++])) break;
        connection->left = strtoll(connection->line, NULL, 16);
        connection->lineLength = 0;
        connection->phase = connection->left > 0 ? IN_CHUNK : IN_TRAILER;
        break;
      case IN_TRAILER: {
        if (!endsLine(connection, bytes[at++])) break;
        const bool isEnd = connection->lineLength == 0;
        connection->lineLength = 0;
        if (isEnd) finish(connection);
        break;
      }
      case UNTIL_CLOSED:
        readBody(connection, bytes + at, count - at);
        at = count;
        break;
    }
  }
  return true;
}

static void breakOff(struct connection *connection) {
  if (connection->phase == UNTIL_CLOSED) {
    connection->isClosing = true;
    finish(connection);
    return;
  }
  const bool wasAsked = connection->phase != RESTING;
  if (wasAsked) failed++;
  if (failed > MOST_ERRORS) {
    fprintf(stderr, "load: over %d connections broke\n", MOST_ERRORS);
    exit(1);
  }
  reconnect(connection);
  if (wasAsked) rest(connection);
}

static void receive(struct connection *connection) {
  static char bytes[READ_ROOM];
  ssize_t got = recv(connection->fd, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0 || !take(connection, bytes, got)) breakOff(connection);
}

/* ── the run ── */

static void say(const char *word) {
  printf("%s\n", word);
  fflush(stdout);
}

static void beginDue(uint64_t now, uint64_t *nextNs) {
  const uint64_t gapNs = (uint64_t)(1e9 / options.rate);
  for (; *nextNs <= now && mayBegin(); *nextNs += gapNs) {
    if (restingCount > 0) {
      begin(resting[--restingCount], *nextNs);
      continue;
    }
    if (dueTo == dueRoom) due = realloc(due, (dueRoom = dueRoom ? dueRoom * 2 : 4096) * sizeof *due);
    due[dueTo++] = *nextNs;
  }
}

static int stalled(struct connection **all, uint64_t now) {
  const uint64_t patienceNs = 3000000000u;
  int count = 0;
  for (int i = 0; i < options.connections; i++) count += all[i]->lastEventNs == 0 || now - all[i]->lastEventNs > patienceNs;
  return count;
}

static void run(struct connection **all) {
  const uint64_t startNs = nowNs(), second = 1000000000u, drainNs = 5 * second;
  const uint64_t heldPatienceNs = startNs + 60 * second;
  uint64_t nextNs = startNs;
  int held = 0;
  struct epoll_event events[512];
  measureFromNs = options.loop == HELD ? UINT64_MAX : startNs + (uint64_t)(options.warmSeconds * 1e9);
  measureToNs = UINT64_MAX;
  if (options.loop == CLOSED || options.loop == STREAMS)
    while (restingCount > 0 && mayBegin()) begin(resting[--restingCount], nowNs());
  for (;;) {
    const uint64_t now = nowNs();
    if (!isMeasuring && (now >= measureFromNs || (options.loop == HELD && (streamsBegun == options.connections || now > heldPatienceNs)))) {
      isMeasuring = true;
      measureFromNs = now;
      measureToNs = options.requests > 0 ? UINT64_MAX : now + (uint64_t)(options.seconds * 1e9);
      say("measuring");
    }
    if (isMeasuring && !isOver && (now >= measureToNs || (options.requests > 0 && started >= options.requests && restingCount == options.connections))) {
      isOver = true;
      measureToNs = now;
      dueFrom = dueTo;
      say("measured");
    }
    if (isOver && (restingCount == options.connections || options.loop == HELD || now > measureToNs + drainNs)) return;
    if (options.loop == OPEN) beginDue(now, &nextNs);
    /* One a millisecond: streams that begin all at once are another test. */
    for (; options.loop == HELD && held < options.connections && now - startNs >= (uint64_t)held * 1000000u; held++) begin(all[held], now);

    uint64_t waitNs = 20000000u;
    if (options.loop == OPEN && !isOver) waitNs = nextNs > now ? nextNs - now : 0;
    if (options.loop == HELD && held < options.connections) waitNs = 500000u;
    const struct timespec wait = {(time_t)(waitNs / second), (long)(waitNs % second)};
    const int ready = epoll_pwait2(poller, events, 512, &wait, NULL);
    for (int i = 0; i < ready; i++) {
      struct connection *connection = events[i].data.ptr;
      if (events[i].events & EPOLLOUT) sendOn(connection);
      if (events[i].events & ~(uint32_t)EPOLLOUT) receive(connection);
    }
  }
}

static void sortSamples(struct samples *samples) {
  qsort(samples->values, samples->count, sizeof(double), byValue);
}

static void report(struct connection **all) {
  const double seconds = (double)(measureToNs - measureFromNs) / 1e9;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  sortSamples(&latencies);
  sortSamples(&firstBytes);
  sortSamples(&delays);
  int unfinished = 0;
  for (int i = 0; options.loop != HELD && i < options.connections; i++) unfinished += all[i]->phase != RESTING;
  printf("{\"seconds\":%.4f,\"finished\":%lld,\"failed\":%lld,\"wrongStatus\":%lld,\"cutShort\":%lld,\"unfinished\":%d,"
         "\"p50\":%.1f,\"p90\":%.1f,\"p99\":%.1f,\"max\":%.1f,\"events\":%lld,\"delayP50\":%.1f,\"delayP99\":%.1f,"
         "\"firstP50\":%.1f,\"firstP99\":%.1f,\"bodyBytes\":%lld,\"begun\":%lld,\"stalled\":%d,\"cpuSeconds\":%.3f}\n",
         seconds, finished, failed, wrongStatus, cutShort, unfinished, quantile(&latencies, 0.5), quantile(&latencies, 0.9), quantile(&latencies, 0.99),
         quantile(&latencies, 1), eventCount, quantile(&delays, 0.5), quantile(&delays, 0.99), quantile(&firstBytes, 0.5), quantile(&firstBytes, 0.99),
         bodyCount, streamsBegun, options.loop == HELD ? stalled(all, measureToNs) : 0,
         (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
}

static const struct option known[] = {
    {"port", required_argument, NULL, 'p'},     {"connections", required_argument, NULL, 'c'}, {"loop", required_argument, NULL, 'l'},
    {"rate", required_argument, NULL, 'r'},     {"seconds", required_argument, NULL, 's'},     {"warm", required_argument, NULL, 'w'},
    {"body", required_argument, NULL, 'b'},     {"session", required_argument, NULL, 'k'},     {"sessions", required_argument, NULL, 'n'},
    {"requests", required_argument, NULL, 'q'}, {"random", no_argument, NULL, 'x'},            {"turns", required_argument, NULL, 't'},
    {"token", required_argument, NULL, 'a'},    {"path", required_argument, NULL, 'u'},        {"model", required_argument, NULL, 'm'},
    {"header", required_argument, NULL, 'h'},   {NULL, 0, NULL, 0},
};

static enum loop loopOf(const char *name) {
  static const char *names[] = {"closed", "open", "streams", "held"};
  for (int i = 0; i < 4; i++)
    if (strcmp(name, names[i]) == 0) return (enum loop)i;
  fprintf(stderr, "load: expected a loop that is closed, open, streams or held, got %s\n", name);
  exit(2);
}

static const char *withHeader(const char *headers, const char *header) {
  char *all = malloc(strlen(headers) + strlen(header) + 3);
  sprintf(all, "%s%s\r\n", headers, header);
  return all;
}

static void readOptions(int count, char **words) {
  for (int option; (option = getopt_long(count, words, "", known, NULL)) != -1;) {
    switch (option) {
      case 'p': options.port = atoi(optarg); break;
      case 'c': options.connections = atoi(optarg); break;
      case 'l': options.loop = loopOf(optarg); break;
      case 'r': options.rate = atof(optarg); break;
      case 's': options.seconds = atof(optarg); break;
      case 'w': options.warmSeconds = atof(optarg); break;
      case 'b': options.bodyBytes = atoi(optarg); break;
      case 'k': options.session = optarg; break;
      case 'n': options.sessions = atoll(optarg); break;
      case 'q': options.requests = atoll(optarg); break;
      case 'x': options.isRandom = true; break;
      case 't': options.turns = atoi(optarg); break;
      case 'a': options.token = optarg; break;
      case 'u': options.path = optarg; break;
      case 'm': options.model = optarg; break;
      case 'h': options.headers = withHeader(options.headers, optarg); break;
      default:
        fprintf(stderr, "usage: load");
        for (const struct option *each = known; each->name != NULL; each++) fprintf(stderr, " [--%s%s]", each->name, each->has_arg == no_argument ? "" : " VALUE");
        fprintf(stderr, "\n");
        exit(2);
    }
  }
  if (options.port < 1 || options.connections < 1 || options.sessions < 1 || options.turns < 1 || options.turns > MOST_TURNS || (options.loop == OPEN && options.rate <= 0)) {
    fprintf(stderr, "load: expected a port, and at least one connection, one session, 1 to %d turns; a rate for an open loop\n", MOST_TURNS);
    exit(2);
  }
}

int main(int count, char **words) {
  readOptions(count, words);
  signal(SIGPIPE, SIG_IGN);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  int events, bytes;
  if (options.loop == STREAMS && sscanf(options.model, "stream-%d-%d-", &events, &bytes) == 2) wantedEvents = events;
  for (int i = 0; i < MOST_HISTORIES; i++) prepareHistory(i);
  poller = epoll_create1(0);
  struct connection **all = malloc((size_t)options.connections * sizeof *all);
  resting = malloc((size_t)options.connections * sizeof *resting);
  for (int i = 0; i < options.connections; i++) {
    all[i] = calloc(1, sizeof **all);
    all[i]->tail = malloc(TAIL_ROOM);
    connectAnew(all[i]);
    if (options.loop != HELD) resting[restingCount++] = all[i];
  }
  run(all);
  report(all);
  return 0;
}
