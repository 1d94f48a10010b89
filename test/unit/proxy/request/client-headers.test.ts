import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import {
  canonicalName,
  cleanClientHeaders,
  isIdentityField,
} from '../../../../src/proxy/request/client-headers.ts';

const names = (headers: readonly (readonly [string, string])[]) => headers.map(([name]) => name);

t.test('allowed headers of a client are forwarded unchanged', async (t) => {
  const headers = [
    ['User-Agent', 'kubectl/v1.32'],
    ['Accept', 'application/json;as=Table'],
    ['Accept', 'application/json'],
    ['Content-Type', 'application/apply-patch+yaml'],
    ['Kubectl-Command', 'kubectl get'],
    ['X-Stream-Protocol-Version', 'v4.channel.k8s.io'],
  ] as const;
  t.same(cleanClientHeaders(headers), headers);
});

const REMOVED = [
  // They name the address from which a request comes, or how it came.
  ...['X-Forwarded-For', 'X-Forwarded-Client-Cert', 'X-Real-Ip', 'Forwarded', 'Front-End-Https'],
  ...['Client-IP', 'client_ip', 'X-Client-IP', 'X-Cluster-Client-IP', 'True-Client-IP', 'CF-Connecting-IP'],
  // They name the user, or prove who it is.
  ...['X-Remote-User', 'x_remote_group', 'X-REMOTE-EXTRA-scopes', 'X-Stonegate-User', 'Authorization'],
  ...['X-SSL-Client-CN', 'X-Client-Cert', 'X_Auth_Request_User', 'X-Original-User'],
  // They carry tokens of Keystone, or what its middleware tells services about the user.
  ...['X-Auth-Token', 'X_AUTH_TOKEN', 'X-Subject-Token', 'X-Storage-Token', 'X-Service-Token', 'X-User'],
  ...['X-User-Id', 'X_User_Name', 'X-Project-Id', 'X-Roles', 'X-Role', 'X-Tenant', 'X-Tenant-Name'],
  ...['X-Domain-Id', 'X-System-Scope', 'X-Identity-Status', 'X-Is-Admin-Project', 'X-Key-Manager'],
  ...['X-Openstack-Request-Id', 'Openstack-System-Scope'],
  // They name another method or path than the request line.
  ...['X-Original-URL', 'X_ORIGINAL_METHOD', 'X-Rewrite-Url'],
  ...['X-HTTP-Method', 'X-HTTP-Method-Override', 'X-Method-Override'],
  // Cookies of Stonegate's origin are not for workloads.
  ...['Cookie', 'Cookie2'],
  // Stonegate sends its own.
  ...['Audit-ID', 'Host'],
];

t.test(
  'C154 C177 each header by which a client could pass for another, or reach another path, is removed',
  async (t) => t.same(names(cleanClientHeaders(REMOVED.map((name) => [name, 'x']))), []),
);

t.test(
  'any header that begins like an impersonation header is refused if impersonation was not handled',
  async (t) => {
    for (const name of [
      'Impersonate-User',
      'impersonate-group',
      'IMPERSONATE-UID',
      'Impersonate_User',
      'Impersonate-Not-Real',
      'impersonate-Extra',
      'Impersonate-Extra-scopes',
      'Impersonate',
    ])
      t.throws(() => cleanClientHeaders([[name, 'system:admin']]), { code: 'ImpersonationForbidden' }, name);
  },
);

t.test('impersonation headers that were handled are not forwarded', async (t) => {
  const impersonation = [
    ['Impersonate-User', 'bob'],
    ['Impersonate-Extra-scopes', 'view'],
    ['Connection', 'Impersonate-User'],
  ] as const;
  t.same(cleanClientHeaders([...impersonation, ['Accept', '*/*']], { impersonationHandled: true }), [
    ['Accept', '*/*'],
  ]);
});

t.test('C109 C148 headers that Connection names are removed, before Stonegate adds its own', async (t) => {
  const cleaned = cleanClientHeaders([
    ['Connection', 'Impersonate-User, X-Custom'],
    ['connection', 'KEEP-ALIVE, x_other'],
    ['X-Custom', '1'],
    ['X-Other', '2'],
    ['Accept', '*/*'],
  ]);
  t.same(names(cleaned), ['Accept']);
});

t.test('hop-by-hop and framing headers are not forwarded', async (t) => {
  const hop = [
    ...['TE', 'Trailer', 'Transfer-Encoding', 'Content-Length', 'Upgrade', 'HTTP2-Settings', 'Connection'],
    ...['Keep-Alive', 'Expect', 'Proxy-Connection', 'Proxy-Authenticate', 'Proxy-Authorization'],
  ];
  t.same(cleanClientHeaders(hop.map((name) => [name, 'x'])), []);
});

t.test('C194 the token among the WebSocket subprotocols is removed, and the others stay', async (t) => {
  const cleaned = cleanClientHeaders([
    ['Sec-WebSocket-Protocol', 'base64url.bearer.authorization.k8s.io.Zm9v, v4.channel.k8s.io'],
    ['Sec-WebSocket-Protocol', 'Base64URL.Bearer.authorization.k8s.io.YmFy'],
  ]);
  t.same(cleaned, [['Sec-WebSocket-Protocol', 'v4.channel.k8s.io']]);
});

t.test('these headers are removed in any spelling', async () => {
  const spelling = fc
    .constantFrom(...REMOVED)
    .chain((name) =>
      fc.tuple(
        ...[...name].map((c) =>
          c === '-' ? fc.constantFrom('-', '_') : fc.constantFrom(c.toLowerCase(), c.toUpperCase()),
        ),
      ),
    )
    .map((characters) => characters.join(''));
  fc.assert(
    fc.property(spelling, fc.string(), (name, value) => cleanClientHeaders([[name, value]]).length === 0),
  );
});

t.test('whatever a client sends, no remaining header names a user', async () => {
  const field = fc.tuple(
    fc.oneof(
      fc.string({ unit: fc.constantFrom(...'abcdimpersonatexuglhz-_ROSTE') }),
      fc.constantFrom('Impersonate-User', 'Connection', 'X-Remote-User', 'Accept'),
    ),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(field), (headers) => {
      try {
        return cleanClientHeaders(headers).every(([name]) => !isIdentityField(canonicalName(name)));
      } catch (error) {
        return error instanceof StatusError && error.code === 'ImpersonationForbidden';
      }
    }),
  );
});
