/**
 * The portal without sockets and with fake dependencies: the requests that browsers send, and the cookies
 * that they store.
 */

import { StatusError } from '../../src/errors/status-error.ts';
import type { PortalOptions } from '../../src/features/portal/context.ts';
import type { OIDCLogin, OIDCResult, Provider } from '../../src/features/portal/oidc-portal.ts';
import { createPortal } from '../../src/features/portal/portal.ts';
import type { PasswordResult, PasswordSignIn } from '../../src/features/portal/portal-password-login.ts';
import { createMemorySessions, createPortalSealer } from '../../src/features/portal/portal-storage.ts';
import type { LogFields, Logger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { ResponseMemory } from '../../src/limits/response-memory.ts';
import type { ObservedRequest } from '../../src/observability/request-observer.ts';
import type { QualifiedIdentity } from '../../src/tenancy/identity.ts';
import { toTenantName } from '../../src/tenancy/tenant-name.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { type FakeResponse, fakeExchange } from './fake-exchange.ts';
import { groupsOf } from './identities.ts';
import { type PageSources, pagesOf } from './portal-pages.ts';

export const ORIGIN = 'https://login.example.com';
const HOUR = 3_600_000;
export const ACME = 'acme';

export interface Ask {
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: readonly (readonly [string, string])[];
  /** The origin of the form; by default the portal. */
  readonly origin?: string | undefined;
}

/** One browser with its cookies. */
export interface FakeBrowser {
  readonly cookies: Map<string, string>;
  get(path: string, ask?: Ask): Promise<FakeResponse>;
  /** The text of a page. */
  text(path: string, ask?: Ask): Promise<string>;
  status(path: string, ask?: Ask): Promise<number>;
  /** Posts a form with the hidden token of the last page. */
  submit(path: string, form: Readonly<Record<string, string>>): Promise<FakeResponse>;
  post(path: string, form: Readonly<Record<string, string>>, ask?: Ask): Promise<FakeResponse>;
  /** The hidden token of the last page's form for signing in, or for signing out. */
  readonly formToken: string;
  /** Switches to another project, with the form of the last page that had one. */
  switchTo(project: string, changes?: Readonly<Record<string, string>>, ask?: Ask): Promise<FakeResponse>;
  signIn(changes?: Partial<PasswordSignIn> & { readonly next?: string }): Promise<FakeResponse>;
}

export interface FakePortal {
  readonly clock: FakeClock;
  readonly logged: { readonly message: string; readonly fields: LogFields }[];
  /** The requests that have ended, as the observers see them. */
  readonly observed: ObservedRequest[];
  /** The sign-ins that Keystone received. */
  readonly asked: PasswordSignIn[];
  /** The exchanges of tokens that Keystone received. */
  readonly exchanged: { readonly token: string; readonly projectID: string }[];
  /** State that tests may change. */
  readonly world: {
    password: PasswordResult;
    /** The token for another project; undefined if Keystone refuses it. */
    rescoped: string | undefined;
    oidc: OIDCResult | Error;
    identity: QualifiedIdentity | StatusError;
    limited: 'source' | 'user' | undefined;
  };
  readonly sessions: PortalOptions['sessions'];
  readonly serve: ReturnType<typeof createPortal>;
  browser(): FakeBrowser;
}

export function keystoneIdentity(expiresAt: number): QualifiedIdentity {
  const acme = { id: 'acme-domain', name: 'acme' };
  return {
    authenticator: 'keystone',
    subject: { kind: 'keystone', userName: 'alice', userDomain: acme, scopeDomain: acme },
    tenantOrigin: { from: 'domain', domain: acme },
    uid: 'u1',
    groups: ['keystone:project:p1'],
    extra: {},
    scope: { kind: 'project', id: 'p1', name: 'web', roles: ['member'] },
    expiresAt,
    auditAnnotations: {},
  };
}

export function createFakePortal(changes: Partial<PortalOptions & PageSources> = {}): FakePortal {
  const clock = createFakeClock();
  const logged: FakePortal['logged'] = [];
  const log = (fields: LogFields, message: string) => void logged.push({ message, fields });
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const observed: ObservedRequest[] = [];
  const asked: PasswordSignIn[] = [];
  const exchanged: FakePortal['exchanged'] = [];
  const world: FakePortal['world'] = {
    password: { token: 'keystone-token', projects: [{ id: 'p2', name: 'batch' }] },
    rescoped: 'other-token',
    oidc: { idToken: 'id-token' },
    identity: keystoneIdentity(clock.now() + 12 * HOUR),
    limited: undefined,
  };
  const sessions = createMemorySessions({ maxSessions: 10, clock });
  const serve = createPortal({
    publicURL: ORIGIN,
    trustedProxies: [],
    clientSetup: {
      kind: 'ClientSetup',
      apiVersion: 'stonegate.dev/v1alpha1',
      spec: { tenancyMode: 'shared', oidc: [] },
    },
    cluster: {
      name: 'demo',
      server: 'https://k8s.example.com',
      ca: 'CERTIFICATE',
      keystoneURL: 'https://keystone.example.com/v3',
    },
    providers: [
      createFakeProvider(ACME, async () => {
        if (world.oidc instanceof Error) throw world.oidc;
        return world.oidc;
      }),
    ],
    keystone: {
      displayName: 'Keystone',
      defaultDomain: undefined,
      login: {
        async signIn(fields) {
          asked.push(fields);
          return world.password;
        },
        async rescope(token, projectID) {
          exchanged.push({ token, projectID });
          return world.rescoped;
        },
      },
    },
    identities: {
      async authenticate() {
        if (world.identity instanceof StatusError) throw world.identity;
        return world.identity;
      },
      describe(identity) {
        const { subject } = identity;
        const name =
          subject.kind === 'keystone' ? subject.userName : subject.kind === 'claim' ? subject.name : '';
        const user = { username: `acme:${name}`, uid: '', groups: groupsOf(identity), extra: {} };
        return { tenant: toTenantName('acme'), user };
      },
    },
    namespaceOf: ({ name }) => (name === 'web' ? 'acme-web' : undefined),
    sessions,
    limit: { admit: () => world.limited, succeeded() {} },
    observer: {
      requestReceived() {},
      responseStarted() {},
      responseComplete: (request) => void observed.push(request),
    },
    responseMemory: new ResponseMemory(),
    limiter: undefined,
    sealer: createPortalSealer([], systemRandom),
    sessionLifetime: 8 * HOUR,
    version: '1.2.3',
    clock,
    random: systemRandom,
    logger,
    pages: pagesOf(changes),
    ...changes,
  });
  return {
    clock,
    logged,
    observed,
    asked,
    exchanged,
    world,
    sessions,
    serve,
    browser: () => createBrowser(serve),
  };
}

/** An issuer that redirects browsers back with the state `the-state`. */
export function createFakeProvider(name: string, finish: OIDCLogin['finish']): Provider {
  const issuer = `https://${name}.example.com`;
  return {
    name,
    displayName: name === ACME ? 'Acme' : name,
    issuer,
    kubectlClientID: 'kubectl-client',
    kubectlRedirectURI: 'http://127.0.0.1/acme',
    scopes: ['openid', 'profile', 'email', 'groups'],
    login: {
      async begin(redirectURI) {
        return {
          location: `${issuer}/auth?redirect_uri=${encodeURIComponent(redirectURI)}`,
          transaction: { state: 'the-state', nonce: 'the-nonce', codeVerifier: 'the-verifier' },
        };
      },
      finish,
    },
  };
}

/** The action and the hidden token of a form. */
const FORM = /<form[^>]* action="([^"]*)"[^>]*>(?:(?!<\/form>).)*?name="token" value="([^"]*)"/gs;

function createBrowser(serve: ReturnType<typeof createPortal>): FakeBrowser {
  const cookies = new Map<string, string>();
  let formToken = '';
  let switchToken = '';

  async function ask(
    method: string,
    path: string,
    { form, headers = [], origin }: Ask,
  ): Promise<FakeResponse> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const exchange = fakeExchange({
      method,
      target: path,
      headers: [
        ...(headers.some(([name]) => name === 'host') ? [] : [['host', 'login.example.com'] as const]),
        ...(cookie === '' ? [] : [['cookie', cookie] as const]),
        ...(origin === undefined ? [] : [['origin', origin] as const]),
        ...(form === undefined || headers.some(([name]) => name === 'content-type')
          ? []
          : [['content-type', 'application/x-www-form-urlencoded'] as const]),
        ...headers,
      ],
      ...(form === undefined ? {} : { body: new URLSearchParams(form).toString() }),
    });
    await serve(exchange);
    const { response } = exchange;
    for (const [name, value] of response.headers) {
      const [, key = '', content = ''] = /^([^=]+)=([^;]*)/.exec(value) ?? [];
      if (name !== 'Set-Cookie') continue;
      if (value.includes('Max-Age=0')) cookies.delete(key);
      else cookies.set(key, content);
    }
    for (const [, action, token = ''] of response.text.matchAll(FORM)) {
      if (action === '/project') switchToken = token;
      else formToken = token;
    }
    return response;
  }

  const self: FakeBrowser = {
    cookies,
    get formToken() {
      return formToken;
    },
    get: (path, given = {}) => ask('GET', path, given),
    text: async (path, given = {}) => (await ask('GET', path, given)).text,
    status: async (path, given = {}) => (await ask('GET', path, given)).status,
    submit: (path, form) => self.post(path, { ...form, token: formToken }),
    post: (path, form, given = {}) => ask('POST', path, { origin: ORIGIN, ...given, form }),
    switchTo: (project, changes = {}, given = {}) =>
      self.post('/project', { token: switchToken, next: '/', project, ...changes }, given),
    async signIn({ next = '/', ...changes } = {}) {
      await self.get('/login');
      const fields = { user: 'alice', password: 'alice-pass', domain: 'acme', project: 'web', ...changes };
      return self.post('/login/keystone', {
        ...fields,
        project: fields.project ?? '',
        next,
        token: formToken,
      });
    },
  };
  return self;
}

/** A portal, a browser that has signed in there, and the response to that. */
export async function signedIn(options: Parameters<typeof createFakePortal>[0] = {}) {
  const portal = createFakePortal(options);
  const browser = portal.browser();
  const response = await browser.signIn();
  return { portal, browser, response };
}

/** A page of the portal for a signed-in user. */
export async function pageOf(
  path: string,
  options: Partial<PortalOptions & PageSources>,
): Promise<FakeResponse> {
  const { browser } = await signedIn(options);
  return browser.get(path);
}

export function headerOf({ headers }: FakeResponse, name: string): string | undefined {
  return headers.find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
}
