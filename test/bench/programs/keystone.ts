/**
 * The Keystone of the benchmark: vouches for every token after 5 ms. The token says whom it makes:
 * `gAAAAA.USER.TENANT.GROUPS.PADDING`. `/seen` tells how often it was asked.
 */
import { createServer } from 'node:http';
import { announce } from './announce.ts';

const DELAY_MS = 5;
let calls = 0;

const server = createServer({ maxHeaderSize: 128 * 1024 }, (request, response) => {
  if (request.url === '/seen') response.end(String(calls));
  else if (!request.url?.startsWith('/v3/auth/tokens')) {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ version: { id: 'v3.14', status: 'stable' } }));
  } else {
    calls += 1;
    const token = String(request.headers['x-subject-token']);
    setTimeout(() => {
      response.setHeader('content-type', 'application/json');
      response.setHeader('x-subject-token', token);
      response.end(JSON.stringify({ token: describe(token) }));
    }, DELAY_MS);
  }
});

function describe(token: string): object {
  const [, user = 'alice', tenant = 'acme', groups = '0'] = token.split('.');
  const domain = { id: `domain-${tenant}`, name: tenant };
  return {
    methods: ['password'],
    user: {
      id: `id-${user}`,
      name: user,
      domain,
      'OS-FEDERATION': {
        groups: Array.from({ length: Number(groups) }, (_, index) => ({ id: `group-${index}` })),
      },
    },
    project: { id: `project-${tenant}`, name: 'web', domain },
    roles: [{ id: 'role-member', name: 'member' }],
    audit_ids: [`audit-${user}`],
    issued_at: new Date().toISOString(),
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  };
}

server.listen(0, '127.0.0.1', () => announce(server));
