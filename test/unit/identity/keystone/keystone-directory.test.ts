/** The directory with recorded responses of a real Keystone, and with incomplete ones. */
import t from 'tap';
import { createKeystoneDirectory } from '../../../../src/identity/keystone/keystone-directory.ts';
import { isJSONObject, type JSONObject } from '../../../../src/lib/json-object.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { recording } from '../../../support/keystone/recordings.ts';

const SYSTEM = '/role_assignments?scope.system=all&include_names';
const unavailable = { code: 'KeystoneUnavailable', http: 503 };
const assignmentsOf = (user: string) => `/role_assignments?user.id=${user}&effective&include_names`;

function recorded(name: string): JSONObject {
  const { body } = recording(name).response;
  if (!isJSONObject(body)) throw new TypeError('the recording is no object');
  return body;
}

/** @param bodies by path; a path that is not among them is a 404 */
function directoryOf(bodies: Readonly<Record<string, JSONObject>>) {
  const clock = createFakeClock();
  const asked: string[] = [];
  const all: Readonly<Record<string, JSONObject>> = { [SYSTEM]: { role_assignments: [] }, ...bodies };
  const directory = createKeystoneDirectory({
    clock,
    service: {
      async get({ path }) {
        asked.push(path);
        const body = all[path];
        return body && { status: 200, body, token: undefined, date: undefined };
      },
    },
  });
  return { directory, asked, clock };
}

const groupOnSystem = {
  role_assignments: [
    {
      scope: { system: { all: true } },
      group: { id: '33d86b5141094bd69e3b228fd75f72a1', name: 'ops', domain: { id: 'd', name: 'D' } },
      role: { id: 'r', name: 'reader' },
    },
  ],
};

t.test('a role on the system through a group counts for its members, and for no other user', async (t) => {
  const bob = '3e0aec2f29b642608c8cd9805f6f0ba6';
  const { directory } = directoryOf({
    [assignmentsOf(bob)]: recorded('role-assignments-effective-group-and-project'),
    [assignmentsOf('other')]: { role_assignments: [] },
    [SYSTEM]: groupOnSystem,
    '/role_inferences': { role_inferences: [] },
    [`/users/${bob}/groups`]: recorded('user-groups-by-system-reader'),
    '/users/other/groups': { groups: [] },
  });
  t.match((await directory.roleAssignmentsOf(bob)).at(-1), {
    user: { name: 'bob' },
    scope: { kind: 'system' },
  });
  t.same(await directory.roleAssignmentsOf('other'), []);
});

t.test('the system’s assignments are requested once in five seconds, for all users together', async (t) => {
  const { directory, asked, clock } = directoryOf({
    [assignmentsOf('a')]: { role_assignments: [] },
    [assignmentsOf('b')]: { role_assignments: [] },
  });
  await Promise.all([directory.roleAssignmentsOf('a'), directory.roleAssignmentsOf('b')]);
  await directory.roleAssignmentsOf('a');
  t.equal(asked.filter((path) => path === SYSTEM).length, 1);
  clock.advance(5_000);
  await directory.roleAssignmentsOf('a');
  t.equal(asked.filter((path) => path === SYSTEM).length, 2);
});

t.test('a user whom Keystone does not know has no roles, and their id cannot widen the query', async (t) => {
  const { directory, asked } = directoryOf({});
  t.same(await directory.roleAssignmentsOf('x&scope.project.id=y'), []);
  t.equal(asked[0], '/role_assignments?user.id=x%26scope.project.id%3Dy&effective&include_names');
});

t.test('pages are followed on the same origin and nowhere else', async (t) => {
  const domain = (id: string) => ({ id, name: id, enabled: true });
  const { directory, asked } = directoryOf({
    '/domains': { domains: [domain('a')], links: { next: 'http://evil.example/v3/domains?marker=a' } },
    '/domains?marker=a': { domains: [domain('b')], links: { next: null } },
  });
  t.same(
    (await directory.domains()).map(({ id }) => id),
    ['a', 'b'],
  );
  t.same(asked, ['/domains', '/domains?marker=a']);
});

t.test(
  'an incomplete list is a 503, since provisioning would revoke rights that are missing from it',
  async (t) => {
    const answers: Readonly<Record<string, JSONObject>> = {
      'a truncated list': { projects: [], truncated: true, links: { next: null } },
      'an endless list': { projects: [], links: { next: 'http://k/v3/projects?marker=1' } },
      'a response without a list': { projects: {} },
      'a project without a domain': { projects: [{ id: 'p', name: 'p', enabled: true }] },
      'a link to the same page': { projects: [], links: { next: 'http://k/v3/projects' } },
    };
    for (const [what, body] of Object.entries(answers)) {
      const { directory } = directoryOf({ '/projects': body, '/projects?marker=1': body });
      await t.rejects(directory.projects(), unavailable, what);
    }
  },
);

t.test('an assignment of another user is a 503', async (t) => {
  const { directory } = directoryOf({
    [assignmentsOf('me')]: recorded('role-assignments-effective-group-and-project'),
  });
  await t.rejects(directory.roleAssignmentsOf('me'), unavailable);
});

t.test('disabled users and projects are reported, even if Keystone ignores the filter', async (t) => {
  const { directory } = directoryOf({
    '/projects?enabled=false': {
      projects: [
        { id: 'off', enabled: false },
        { id: 'on', enabled: true },
      ],
    },
    '/domains?enabled=false': { domains: [] },
    '/users?enabled=false': { users: [{ id: 'frank', enabled: false }] },
  });
  t.same(await directory.disabledScopes(), { projectIDs: new Set(['off']), domainIDs: new Set() });
  t.same(await directory.disabledUserIDs(), new Set(['frank']));
});
