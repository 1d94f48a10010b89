/**
 * A Keystone in this process, for tests and for the demo: login, validation and revocation of tokens, with
 * the statuses and the responses of a real one (`test/conformance/keystone` compares it with recorded
 * exchanges), and faults on request.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTLSServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { parse } from 'yaml';
import { trackConnections } from '../track-connections.ts';
import { createDirectory, type Target, type User } from './directory.ts';
import { errorBody, type Fault, misbehave } from './faults.ts';
import { listed } from './listing.ts';
import { login, Refusal } from './login.ts';
import { createRevocations } from './revocations.ts';
import { createTokenStore, type IssueOptions, type TokenRecord } from './tokens.ts';

export interface KeystoneStandInOptions {
  readonly tls?: { readonly key: string; readonly cert: string };
  /** The current time in milliseconds since the epoch; by default that of the system. */
  readonly now?: () => number;
  /** With 0, the default, the system chooses a port. */
  readonly port?: number;
}

export type KeystoneStandIn = Awaited<ReturnType<typeof createKeystoneStandIn>>;

interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly token?: string;
}

export async function createKeystoneStandIn(options: KeystoneStandInOptions = {}) {
  const directory = createDirectory();
  const tokens = createTokenStore({
    directory,
    now: options.now ?? Date.now,
  });
  const revocations = createRevocations(tokens, options.now ?? Date.now);
  const calls: string[] = [];
  let held: (() => void)[] = [];
  let fault: Fault | undefined;
  let port = options.port ?? 0;

  async function serve(request: IncomingMessage, response: ServerResponse) {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    calls.push(`${request.method} ${path}`);
    const body = await text(request);
    if (fault === 'hang') await new Promise<void>((resolve) => held.push(resolve));
    else if (fault !== undefined) return misbehave(fault, response);
    write(response, route(request, path, new URLSearchParams(query), body));
  }

  function route(request: IncomingMessage, path: string, query: URLSearchParams, body: string): Answer {
    try {
      if (path === '/v3' || path === '/v3/') return { status: 200, body: { version: VERSION } };
      if (path === '/v3/auth/projects') return { status: 200, body: { projects: projectsOf(request) } };
      if (path === '/v3/OS-REVOKE/events') return { status: 200, body: eventsSince(request, query) };
      if (path !== '/v3/auth/tokens') return { status: 200, body: list(request, path, query) };
      if (request.method === 'POST') return signIn(body);
      if (request.method === 'DELETE') return signOut(request);
      return validate(request);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { status: error.status, body: errorBody(error.status, error.message) };
    }
  }

  function signIn(body: string): Answer {
    const record = login(directory, tokens, JSON.parse(body));
    return { status: 201, token: record.string, body: tokens.bodyOf(record) };
  }

  function signOut(request: IncomingMessage): Answer {
    const { caller, subject } = parties(request);
    if (caller.user !== subject.user && !isReader(caller)) throw forbidden();
    revocations.revoke(subject);
    return { status: 204 };
  }

  function validate(request: IncomingMessage): Answer {
    const { caller, subject } = parties(request);
    if ((subject.applicationCredential?.accessRules?.length ?? 0) > 0) {
      if (request.headers['openstack-identity-access-rules'] === undefined) throw notFound();
    }
    const owner = subject.trust?.trustee ?? subject.user;
    if (owner !== caller.user && !isReader(caller) && !isService(caller)) throw forbidden();
    return { status: 200, token: subject.string, body: tokens.bodyOf(subject) };
  }

  /** The token of the caller, which must be valid. */
  function callerOf(request: IncomingMessage): TokenRecord {
    const caller = tokens.find(String(request.headers['x-auth-token'] ?? ''));
    if (caller && tokens.stateOf(caller) === 'alive') return caller;
    throw new Refusal(401, 'The request you have made requires authentication.');
  }

  function list(request: IncomingMessage, path: string, query: URLSearchParams): object {
    const caller = callerOf(request);
    const own = path === `/v3/users/${caller.user.id}/groups`;
    if (!own && !isReader(caller)) throw forbidden();
    const found = listed(directory, path.slice('/v3'.length), query);
    if (found === undefined) throw new Refusal(404, 'Not Found');
    return found;
  }

  function eventsSince(request: IncomingMessage, query: URLSearchParams): object {
    const caller = callerOf(request);
    if (!isService(caller) && !holds(caller, 'admin')) throw forbidden();
    const since = Date.parse(query.get('since') ?? '1970-01-01T00:00:00Z');
    if (Number.isNaN(since)) throw new Refusal(400, 'invalidate date format');
    return { events: revocations.since(since), links: { next: null, self: '', previous: null } };
  }

  /** The caller's own projects, including disabled ones. */
  function projectsOf(request: IncomingMessage): unknown[] {
    const caller = callerOf(request);
    return directory.projects
      .filter((project) => !project.deleted && directory.rolesOf(caller.user, { project }).length > 0)
      .map(({ id, name, domain, enabled }) => ({ id, name, domain_id: domain.id, enabled }));
  }

  /** The subject is checked before the permission, so a 404 takes precedence over a 403. */
  function parties(request: IncomingMessage): { caller: TokenRecord; subject: TokenRecord } {
    const caller = tokens.find(String(request.headers['x-auth-token'] ?? ''));
    const state = caller && tokens.stateOf(caller);
    if (!caller || state === 'dead')
      throw new Refusal(401, 'The request you have made requires authentication.');
    const subject = tokens.find(String(request.headers['x-subject-token'] ?? ''));
    if (state === 'gone' || !subject || tokens.stateOf(subject) !== 'alive') throw notFound();
    return { caller, subject };
  }

  const holds = (record: TokenRecord, name: string) =>
    tokens.rolesOf(record).some((role) => role.name === name);
  const isSystem = ({ scope }: TokenRecord) => scope !== undefined && 'system' in scope;
  const isReader = (record: TokenRecord) =>
    holds(record, 'admin') || (isSystem(record) && holds(record, 'reader'));
  const isService = (record: TokenRecord) => holds(record, 'service');

  const listener = (request: IncomingMessage, response: ServerResponse) => {
    serve(request, response).catch(() => response.destroy());
  };
  const limits = { maxHeaderSize: 128 * 1024 };
  const server = options.tls
    ? createTLSServer({ ...options.tls, ...limits }, listener)
    : createServer(limits, listener);

  async function listen() {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (typeof address === 'object' && address !== null) port = address.port;
  }

  const endConnections = trackConnections(server);

  async function down() {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    endConnections();
    await closed;
  }

  await listen();
  return {
    /** The URL, which ends with `/v3`. */
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}/v3`,
    directory,
    /** `METHOD /path` of each request so far, without the query. */
    calls,
    get fault() {
      return fault;
    },
    set fault(next) {
      fault = next;
    },
    /** The number of requests that hang at the moment. */
    get hanging() {
      return held.length;
    },
    /** Responds to the requests that hang, and ends the fault. */
    release() {
      fault = undefined;
      for (const go of held) go();
      held = [];
    },
    /** Issues a token without a login. */
    issue: (user: User, scope?: Target, given?: IssueOptions) => tokens.issue(user, scope, given).string,
    revoke(token: string) {
      const record = tokens.find(token);
      if (record) revocations.revoke(record);
    },
    /** Revokes all tokens of the user, as a reset of the password does. */
    revokeAllOf: (user: User) => revocations.revokeAllOf(user),
    /** Refuses connections until `listen()`. */
    down,
    listen,
    close: down,
  };
}

const VERSION: object = parse(`
  id: v3.14
  status: stable
  updated: 2020-04-07T00:00:00Z
  links: [{rel: self, href: /v3/}]
  media-types: [{base: application/json, type: application/vnd.openstack.identity-v3+json}]`);

function write(response: ServerResponse, { status, body, token }: Answer) {
  const json = body === undefined ? '' : JSON.stringify(body);
  response.writeHead(status, {
    ...(json !== '' && { 'Content-Type': 'application/json' }),
    ...(status === 401 && { 'WWW-Authenticate': 'Keystone uri="http://127.0.0.1/v3"' }),
    ...(token !== undefined && { 'X-Subject-Token': token }),
    Vary: 'X-Auth-Token',
    'x-openstack-request-id': `req-${randomUUID()}`,
  });
  response.end(json);
}

function notFound(): Refusal {
  return new Refusal(404, 'Failed to validate token');
}

function forbidden(): Refusal {
  return new Refusal(403, 'You are not authorized to perform the requested action: identity:validate_token.');
}
