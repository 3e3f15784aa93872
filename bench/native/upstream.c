/*
 * A provider that costs next to nothing: `upstream PORT`, on loopback, one thread.
 *
 * What it answers is chosen by the model that a request names:
 *   stream-EVENTS-BYTES-MS  server-sent events, one write each, MS apart (0: as fast as they are read); each tells the time at
 *                           which it was written, as @nanoseconds@
 *   refuse-turns            429 and the usual answer, by turns
 *   anything else           about 1 KB of JSON: a chat completion, or a message where the path ends in /messages
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
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
#include <time.h>
#include <unistd.h>

enum { HEAD_ROOM = 16384, BODY_ROOM = 512, READ_ROOM = 262144, EVENT_ROOM = 8192, BURST = 16 };
enum phase { IN_HEAD, IN_BODY, IN_CHUNK_SIZE, IN_CHUNK, AFTER_CHUNK, IN_TRAILER, ANSWERING };

struct client {
  int fd;
  enum phase phase;
  bool isMessages, isBlocked, isHurrying;
  int headLength, bodyLength, lineLength;
  long long left;
  char head[HEAD_ROOM + 1], body[BODY_ROOM + 1], line[64];
  /* A stream under way. */
  int events, eventBytes, sent, heapAt;
  uint64_t gapNs, dueNs;
  char pending[EVENT_ROOM];
  int pendingLength, pendingAt;
  struct client *nextHurrying;
};

static int poller;
static struct client **heap, *hurrying;
static int heapLength, heapRoom;
static char completion[4096], message[4096], refusal[1024];
static int completionLength, messageLength, refusalLength;
static unsigned long refusals;

static uint64_t nowNs(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* ── streams by the time at which they are due: a binary heap ── */

static void place(struct client *client, int at) {
  heap[at] = client;
  client->heapAt = at;
}

static void sink(struct client *client, int at) {
  for (int child; (child = 2 * at + 1) < heapLength; at = child) {
    if (child + 1 < heapLength && heap[child + 1]->dueNs < heap[child]->dueNs) child++;
    if (heap[child]->dueNs >= client->dueNs) break;
    place(heap[child], at);
  }
  place(client, at);
}

static void rise(struct client *client, int at) {
  for (int parent; at > 0 && heap[parent = (at - 1) / 2]->dueNs > client->dueNs; at = parent) place(heap[parent], at);
  place(client, at);
}

static void schedule(struct client *client) {
  if (heapLength == heapRoom) heap = realloc(heap, (size_t)(heapRoom = heapRoom ? heapRoom * 2 : 1024) * sizeof *heap);
  rise(client, heapLength++);
}

static void unschedule(struct client *client) {
  int at = client->heapAt;
  if (at < 0) return;
  client->heapAt = -1;
  struct client *last = heap[--heapLength];
  if (last == client) return;
  sink(last, at);
  rise(last, last->heapAt);
}

static void stopHurrying(struct client *client) {
  if (!client->isHurrying) return;
  client->isHurrying = false;
  struct client **at = &hurrying;
  while (*at != client) at = &(*at)->nextHurrying;
  *at = client->nextHurrying;
}

/* ── connections ── */

static void drop(struct client *client) {
  unschedule(client);
  stopHurrying(client);
  close(client->fd);
  free(client);
}

static void watch(struct client *client, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = client};
  epoll_ctl(poller, EPOLL_CTL_MOD, client->fd, &event);
}

/* Writes what is pending. False if the connection broke. */
static bool flush(struct client *client) {
  while (client->pendingAt < client->pendingLength) {
    ssize_t wrote = send(client->fd, client->pending + client->pendingAt, (size_t)(client->pendingLength - client->pendingAt), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (wrote < 0 && errno == EAGAIN) {
      if (!client->isBlocked) watch(client, EPOLLIN | EPOLLOUT);
      client->isBlocked = true;
      return true;
    }
    if (wrote < 0) return false;
    client->pendingAt += (int)wrote;
  }
  if (client->isBlocked) watch(client, EPOLLIN);
  client->isBlocked = false;
  return true;
}

static bool put(struct client *client, const char *text, int length) {
  if (length > EVENT_ROOM) return false;
  memcpy(client->pending, text, (size_t)length);
  client->pendingLength = length;
  client->pendingAt = 0;
  return flush(client);
}

static void expectRequest(struct client *client) {
  client->phase = IN_HEAD;
  client->headLength = client->bodyLength = client->lineLength = 0;
}

/* One event, or the end of the stream; as one chunk in one write. */
static bool putEvent(struct client *client) {
  static const char *end = "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
  if (client->sent == client->events) {
    unschedule(client);
    stopHurrying(client);
    expectRequest(client);
    return put(client, end, (int)strlen(end));
  }
  char event[EVENT_ROOM - 64], framed[EVENT_ROOM];
  int length = snprintf(event, sizeof event,
                        "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench\","
                        "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"@%llu@ ",
                        (unsigned long long)nowNs());
  static const char *close = "\"},\"finish_reason\":null}]}\n\n";
  int wanted = client->eventBytes - (int)strlen(close);
  while (length < wanted) event[length++] = 'w';
  length += snprintf(event + length, sizeof event - (size_t)length, "%s", close);
  int total = snprintf(framed, sizeof framed, "%x\r\n%.*s\r\n", length, length, event);
  client->sent++;
  return put(client, framed, total);
}

static bool beginStream(struct client *client) {
  static const char *head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
                            "x-request-id: req_bench\r\nTransfer-Encoding: chunked\r\n\r\n";
  client->phase = ANSWERING;
  client->sent = 0;
  if (!put(client, head, (int)strlen(head))) return false;
  if (client->gapNs == 0) {
    client->isHurrying = true;
    client->nextHurrying = hurrying;
    hurrying = client;
  } else {
    client->dueNs = nowNs();
    schedule(client);
  }
  return true;
}

static bool answer(struct client *client) {
  client->body[client->bodyLength] = 0;
  const char *model = strstr(client->body, "\"model\":");
  if (model != NULL) {
    double gapMs;
    const char *stream = strstr(model, "stream-");
    if (stream != NULL && sscanf(stream, "stream-%d-%d-%lf", &client->events, &client->eventBytes, &gapMs) == 3) {
      if (client->eventBytes > EVENT_ROOM - 256) client->eventBytes = EVENT_ROOM - 256;
      client->gapNs = (uint64_t)(gapMs * 1e6);
      return beginStream(client);
    }
    if (strstr(model, "refuse-turns") != NULL && refusals++ % 2 == 0) {
      expectRequest(client);
      return put(client, refusal, refusalLength);
    }
  }
  expectRequest(client);
  return client->isMessages ? put(client, message, messageLength) : put(client, completion, completionLength);
}

static void readHead(struct client *client) {
  client->head[client->headLength] = 0;
  const char *pathEnd = strchr(client->head, '\r');
  client->isMessages = pathEnd != NULL && memmem(client->head, (size_t)(pathEnd - client->head), "/messages", 9) != NULL;
  const char *length = strcasestr(client->head, "\r\ncontent-length:");
  const bool isChunked = strcasestr(client->head, "\r\ntransfer-encoding: chunked") != NULL;
  client->left = length != NULL ? atoll(length + 17) : 0;
  client->phase = isChunked ? IN_CHUNK_SIZE : IN_BODY;
}

static void keepBody(struct client *client, const char *bytes, long long count) {
  long long room = BODY_ROOM - client->bodyLength;
  if (count > room) count = room;
  memcpy(client->body + client->bodyLength, bytes, (size_t)count);
  client->bodyLength += (int)count;
}

/* A line of chunked framing: true once it is whole. */
static bool readLine(struct client *client, char byte) {
  if (byte != '\n') {
    if (byte != '\r' && client->lineLength < (int)sizeof client->line - 1) client->line[client->lineLength++] = byte;
    return false;
  }
  client->line[client->lineLength] = 0;
  return true;
}

static bool take(struct client *client, const char *bytes, long long count) {
  for (long long at = 0; at < count;) {
    switch (client->phase) {
      case IN_HEAD: {
        if (client->headLength == HEAD_ROOM) return false;
        client->head[client->headLength++] = bytes[at++];
        if (client->headLength < 4 || memcmp(client->head + client->headLength - 4, "\r\n\r\n", 4) != 0) break;
        readHead(client);
        if (client->phase == IN_BODY && client->left == 0 && !answer(client)) return false;
        break;
      }
      case IN_BODY:
      case IN_CHUNK: {
        long long part = count - at < client->left ? count - at : client->left;
        keepBody(client, bytes + at, part);
        at += part;
        client->left -= part;
        if (client->left > 0) break;
        if (client->phase == IN_CHUNK) client->phase = AFTER_CHUNK;
        else if (!answer(client)) return false;
        break;
      }
      case AFTER_CHUNK:
        if (bytes[at++] == '\n') client->phase = IN_CHUNK_SIZE;
        break;
      case IN_CHUNK_SIZE:
        if (!readLine(client, bytes[at++])) break;
        client->left = strtoll(client->line, NULL, 16);
        client->lineLength = 0;
        client->phase = client->left > 0 ? IN_CHUNK : IN_TRAILER;
        break;
      case IN_TRAILER: {
        if (!readLine(client, bytes[at++])) break;
        const bool isEnd = client->lineLength == 0;
        client->lineLength = 0;
        if (isEnd && !answer(client)) return false;
        break;
      }
      case ANSWERING:
        /* Nobody here sends a request before the answer to the last has ended. */
        return false;
    }
  }
  return true;
}

static void writeDue(uint64_t now) {
  while (heapLength > 0 && heap[0]->dueNs <= now) {
    struct client *client = heap[0];
    /* Who does not read gets nothing more for now; its next turn comes as usual. */
    if (client->pendingAt == client->pendingLength && !putEvent(client)) {
      drop(client);
      continue;
    }
    if (client->heapAt < 0) continue;
    client->dueNs += client->gapNs;
    sink(client, client->heapAt);
  }
}

static void writeHurrying(void) {
  for (struct client *client = hurrying, *next; client != NULL; client = next) {
    next = client->nextHurrying;
    bool isFine = true;
    for (int i = 0; isFine && i < BURST && client->phase == ANSWERING && !client->isBlocked; i++) isFine = putEvent(client);
    if (!isFine) drop(client);
  }
}

static bool hasHurry(void) {
  for (struct client *client = hurrying; client != NULL; client = client->nextHurrying)
    if (!client->isBlocked) return true;
  return false;
}

static int framed(char *into, size_t room, const char *status, const char *body) {
  return snprintf(into, room,
                  "HTTP/1.1 %s\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                  "openai-organization: bench\r\nopenai-processing-ms: 12\r\nopenai-version: 2020-10-01\r\n"
                  "x-ratelimit-limit-requests: 10000\r\nx-ratelimit-limit-tokens: 2000000\r\nx-ratelimit-remaining-requests: 9999\r\n"
                  "x-ratelimit-remaining-tokens: 1999000\r\nx-ratelimit-reset-requests: 6ms\r\nx-ratelimit-reset-tokens: 1ms\r\n"
                  "x-request-id: req_0123456789abcdef0123456789abcdef\r\nstrict-transport-security: max-age=31536000\r\n"
                  "x-content-type-options: nosniff\r\n\r\n%s",
                  status, strlen(body), body);
}

static void prepareAnswers(void) {
  char words[640], body[2048];
  memset(words, 'a', sizeof words - 1);
  for (size_t at = 6; at < sizeof words; at += 7) words[at] = ' ';
  words[sizeof words - 1] = 0;
  snprintf(body, sizeof body,
           "{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"bench\",\"choices\":[{\"index\":0,"
           "\"message\":{\"role\":\"assistant\",\"content\":\"%s\",\"refusal\":null},\"logprobs\":null,\"finish_reason\":\"stop\"}],"
           "\"usage\":{\"prompt_tokens\":212,\"completion_tokens\":131,\"total_tokens\":343,\"prompt_tokens_details\":{\"cached_tokens\":0}}}",
           words);
  completionLength = framed(completion, sizeof completion, "200 OK", body);
  snprintf(body, sizeof body,
           "{\"id\":\"msg_bench\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"bench\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],"
           "\"stop_reason\":\"end_turn\",\"stop_sequence\":null,\"usage\":{\"input_tokens\":212,\"output_tokens\":131}}",
           words);
  messageLength = framed(message, sizeof message, "200 OK", body);
  refusalLength = framed(refusal, sizeof refusal, "429 Too Many Requests",
                         "{\"error\":{\"message\":\"Rate limit reached\",\"type\":\"requests\",\"param\":null,\"code\":\"rate_limit_exceeded\"}}");
}

static int listenOn(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), yes = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 8192) != 0) {
    perror("upstream: cannot listen");
    exit(1);
  }
  return fd;
}

static void acceptAll(int listener) {
  for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct client *client = calloc(1, sizeof *client);
    client->fd = fd;
    client->heapAt = -1;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
  }
}

int main(int count, char **words) {
  if (count != 2) {
    fprintf(stderr, "usage: upstream PORT\n");
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  prepareAnswers();
  poller = epoll_create1(0);
  int listener = listenOn(atoi(words[1]));
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);

  static char bytes[READ_ROOM];
  static struct epoll_event events[512];
  for (;;) {
    uint64_t now = nowNs();
    uint64_t waitNs = hasHurry() ? 0 : heapLength > 0 ? (heap[0]->dueNs > now ? heap[0]->dueNs - now : 0) : 1000000000u;
    struct timespec wait = {(time_t)(waitNs / 1000000000u), (long)(waitNs % 1000000000u)};
    int ready = epoll_pwait2(poller, events, 512, &wait, NULL);
    for (int i = 0; i < ready; i++) {
      struct client *client = events[i].data.ptr;
      if (client == NULL) {
        acceptAll(listener);
        continue;
      }
      bool isFine = !(events[i].events & EPOLLOUT) || flush(client);
      if (isFine && (events[i].events & ~(uint32_t)EPOLLOUT)) {
        ssize_t got = recv(client->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        isFine = got > 0 ? take(client, bytes, got) : got < 0 && errno == EAGAIN;
      }
      if (!isFine) drop(client);
    }
    writeDue(nowNs());
    writeHurrying();
  }
}
