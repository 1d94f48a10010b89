/** An API server as the webhook sees it: it posts reviews with a client certificate. */
import { Agent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import type { KeyPair } from './tls/authority.ts';

export interface ReviewReply {
  readonly status: number;
  /** The body, parsed as JSON. */
  readonly body: {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly code?: number;
    readonly message?: string;
    readonly spec?: unknown;
    readonly status?: unknown;
  };
}

export interface WebhookClientOptions {
  readonly port: number;
  /** The CA of the webhook's certificate, PEM. */
  readonly ca: string;
  /** By default the client has no certificate. */
  readonly own?: KeyPair;
}

export interface ReviewAsk {
  readonly method?: string;
  readonly path?: string;
  readonly contentType?: string;
}

export function createWebhookClient({ port, ca, own }: WebhookClientOptions) {
  const agent = new Agent({ ca, ...own, keepAlive: true });
  /** @param body text is sent as it is, anything else as JSON */
  const post = (body: unknown, ask: ReviewAsk = {}) =>
    new Promise<ReviewReply>((resolve, reject) => {
      const { method = 'POST', path = '/webhook', contentType = 'application/json' } = ask;
      const headers = { 'content-type': contentType };
      const sent = httpsRequest({ host: '127.0.0.1', port, path, method, agent, headers }, (response) => {
        text(response).then(
          (received) => resolve({ status: response.statusCode ?? 0, body: JSON.parse(received) }),
          reject,
        );
      });
      sent.on('error', reject);
      sent.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  return {
    post,
    reviewToken: (token: string, version: 'v1' | 'v1beta1' = 'v1') =>
      post({ apiVersion: `authentication.k8s.io/${version}`, kind: 'TokenReview', spec: { token } }),
    /** @param spec with `groups`, which `v1beta1` calls `group` */
    reviewAccess({ groups, ...spec }: Readonly<Record<string, unknown>>, version: 'v1' | 'v1beta1' = 'v1') {
      const own = { [version === 'v1' ? 'groups' : 'group']: groups };
      const kind = 'SubjectAccessReview';
      return post({ apiVersion: `authorization.k8s.io/${version}`, kind, spec: { ...spec, ...own } });
    },
    close: () => agent.destroy(),
  };
}
