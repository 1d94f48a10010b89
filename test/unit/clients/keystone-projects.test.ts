import t from 'tap';
import type { KeystoneAnswer, KeystoneRequest } from '../../../src/clients/keystone-http.ts';
import { listProjects } from '../../../src/clients/keystone-projects.ts';

/** Keystone gives this answer. */
async function list(body: KeystoneAnswer['body'], status = 200) {
  const asked: KeystoneRequest[] = [];
  const http = {
    async exchange(request: KeystoneRequest) {
      asked.push(request);
      return { status, body, token: undefined, date: undefined };
    },
    close: async () => undefined,
  };
  return { projects: await listProjects(http, 'tok'), asked };
}

t.test('the projects are asked for with the token itself', async (t) => {
  const { projects, asked } = await list({ projects: [{ id: '1', name: 'web', enabled: true }] });
  t.strictSame(projects, [{ id: '1', name: 'web' }]);
  t.match(asked, [{ method: 'GET', path: '/auth/projects', headers: { 'x-auth-token': 'tok' } }]);
});

t.test('disabled ones, and what is no project, are left out', async (t) => {
  const odd = [{ id: '1', name: 'off', enabled: false }, null, 'x', { id: 1, name: 'n' }, { id: '2' }];
  t.strictSame((await list({ projects: [...odd, { id: '3', name: 'db' }] })).projects, [
    { id: '3', name: 'db' },
  ]);
});

t.test('an answer without a list is no list', async (t) => {
  await t.rejects(list({ error: { code: 401 } }, 401), { code: 'KeystoneUnavailable' });
});
