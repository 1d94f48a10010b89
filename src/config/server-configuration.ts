/**
 * The sections `server` and `upstream`: the listener for clients, and the API server.
 */
import { z } from 'zod';
import { bind, cidr, count, duration, type Output, period, toggle, url } from '../lib/schema-fields.ts';
import { authorityFile, file, upstreamCredential } from '../lib/schema-files.ts';

export const serverSchema = z.strictObject({
  bind: bind
    .default('0.0.0.0:8443')
    .describe('HOST:PORT for clients; with port 0 the system chooses a free port.'),
  tls: z
    .strictObject({
      certFile: file('certificate').describe('The server certificate with its chain, PEM.'),
      keyFile: file('key').describe('Its private key, PEM, not encrypted.'),
      clientCAFile: file('ca')
        .exactOptional()
        .describe('If set, every client must present a certificate of this CA.'),
    })
    .describe('The server certificate. Reloaded if a file changes.'),
  http2: toggle('Whether HTTP/2 is offered in addition to HTTP/1.1.', true),
  trustedProxies: z
    .array(cidr)
    .default([])
    .describe(
      'Address ranges of proxies whose `X-Forwarded-For` is trusted, and `traceparent` with `traces`.',
    ),
  workers: z
    .union([z.int().min(1).max(256), z.literal('auto')], { error: '"auto" or a number from 1 to 256' })
    .default(1)
    .describe('Number of processes that share the port; `auto` is one per core.'),
  drain: duration
    .prefault('10s')
    .describe('After SIGTERM, how long requests are still accepted while load balancers learn of it.'),
  shutdownGrace: duration.prefault('30s').describe('After the drain, how long requests in flight may take.'),
  timeouts: z
    .strictObject({
      header: period.prefault('10s').describe('For the TLS handshake and the whole request head.'),
      body: period
        .prefault('1m')
        .describe('For the next bytes of a request body while the API server waits for them.'),
      idle: period.prefault('2m').describe('For the next request on an idle connection.'),
      stall: period
        .prefault('5m')
        .describe('For a client to read the next bytes of a response that is waiting for it.'),
    })
    .prefault({})
    .describe('Against slow clients.'),
  limits: z
    .strictObject({
      headerBytes: z
        .int()
        .min(8_192)
        .default(65_536)
        .describe('Maximum size of a request head in bytes; tokens are large.'),
      bodyBytes: count.default(104_857_600).describe('Maximum size of a request body in bytes.'),
    })
    .prefault({})
    .describe('Against large requests.'),
});

export const upstreamSchema = z.strictObject({
  server: url({ what: "the API server's address, such as https://10.0.0.1:6443", path: /^\/$/ }).describe(
    "The API server's address, without a path.",
  ),
  caFile: authorityFile("the API server's certificate"),
  credential: upstreamCredential.describe('The credential with which Stonegate impersonates users.'),
  headerBytes: z
    .int()
    .min(8_192)
    .default(1_048_576)
    .describe("The API server's limit for request headers in bytes; larger identities are refused."),
  timeouts: z
    .strictObject({
      connect: period.prefault('5s').describe('For the connection and its TLS handshake.'),
      response: period
        .prefault('65s')
        .describe(
          'From the last byte of a request to the first byte of its response. The same time is allowed for receiving the whole request body and for waiting for a free connection. It does not apply to long-running requests.',
        ),
    })
    .prefault({})
    .describe('Against a slow API server.'),
});

export type UpstreamConfiguration = Output<typeof upstreamSchema>;
