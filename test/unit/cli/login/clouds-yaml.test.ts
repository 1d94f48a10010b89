import { join } from 'node:path';
import t, { type Test } from 'tap';
import { readCloud } from '../../../../src/cli/login/clouds-yaml.ts';

type Tree = NonNullable<Parameters<Test['testdir']>[0]>;

/** The home folder, the working folder and the folder of the site. */
function read(t: Test, tree: Tree, name?: string, env: Record<string, string> = {}) {
  const root = t.testdir(tree);
  return readCloud(name, {
    env: { HOME: join(root, 'home'), ...env },
    folder: join(root, 'work'),
    siteFolders: [join(root, 'etc')],
  });
}

const cloud = (user: string) => `clouds: { acme: { auth: { username: ${user} } } }`;
const inHome = (files: Tree) => ({ home: { '.config': { openstack: files } } });

t.test('the working folder, the home folder and the site folder are searched in this order', async (t) => {
  const etc = { etc: { 'clouds.yaml': cloud('in-etc') } };
  const home = { ...inHome({ 'clouds.yaml': cloud('in-home') }), ...etc };
  t.same(await read(t, { work: { 'clouds.yaml': cloud('in-work') }, ...home }, 'acme'), {
    username: 'in-work',
  });
  t.same(await read(t, home, 'acme'), { username: 'in-home' });
  t.same(await read(t, etc, 'acme'), { username: 'in-etc' });
});

const address = (url: string) => `clouds: { acme: { auth: { auth_url: ${url} } } }`;
const password = 'clouds: { acme: { auth: { password: mine } } }';

t.test(
  'if kubectl runs the plugin, the working folder is not read: its files may belong to another user',
  async (t) => {
    const tree = {
      work: { 'clouds.yaml': cloud('other-user') },
      ...inHome({ 'clouds.yaml': cloud('in-home') }),
    };
    t.same(await read(t, tree, 'acme', { KUBERNETES_EXEC_INFO: '{}' }), { username: 'in-home' });
  },
);

t.test('a password from one folder is never used with an address from another', async (t) => {
  const strange = { work: { 'clouds.yaml': address('https://a') }, ...inHome({ 'secure.yaml': password }) };
  t.same(await read(t, strange, 'acme'), { auth_url: 'https://a' });
  const over = {
    work: { 'secure.yaml': address('https://a') },
    ...inHome({ 'clouds.yaml': 'clouds: { acme: { auth: { auth_url: https://b, password: mine } } }' }),
  };
  t.same(await read(t, over, 'acme'), { auth_url: 'https://b', password: 'mine' });
  const together = { work: { 'clouds.yaml': address('https://a'), 'secure.yaml': password } };
  t.same(await read(t, together, 'acme'), { auth_url: 'https://a', password: 'mine' });
});

t.test('other places and formats', async (t) => {
  const tree = { work: { 'clouds.yaml': cloud('in-work'), 'mine.yaml': cloud('named') } };
  t.same(await read(t, tree, 'acme', { OS_CLIENT_CONFIG_FILE: 'mine.yaml' }), { username: 'named' });
  const root = t.testdir({ xdg: { openstack: { 'clouds.yml': cloud('in-xdg') } } });
  const options = { env: { XDG_CONFIG_HOME: join(root, 'xdg') }, folder: root, siteFolders: [] };
  t.same(await readCloud('acme', options), { username: 'in-xdg' });
});

t.test('secure.yaml in any folder of the user is merged over clouds.yaml', async (t) => {
  const tree = {
    ...inHome({ 'clouds.yaml': 'clouds: { acme: { auth: { username: alice, password: old } } }' }),
    etc: { 'secure.yaml': 'clouds: { acme: { auth: { password: sesame } } }' },
  };
  t.same(await read(t, tree, 'acme'), { username: 'alice', password: 'sesame' });
});

const TEXTS = [
  [
    'auth takes precedence over fields beside it, and hyphens become underscores',
    'clouds: { acme: { project-name: beside, username: alice, auth: { project_name: inside } } }',
    { project_name: 'inside', username: 'alice' },
  ],
  [
    'a value that looks like a number stays as it is written',
    `clouds:
  acme:
    auth: { project_id: 1234567890e12, password: 0123, username: ~, user_id: "null", domain_name: null }`,
    { project_id: '1234567890e12', password: '0123', user_id: 'null' },
  ],
  [
    'anchors and merge keys work',
    `base: &base { auth_url: https://keystone, username: alice }
clouds: { acme: { auth: { <<: *base, project_name: web } } }`,
    { auth_url: 'https://keystone', username: 'alice', project_name: 'web' },
  ],
] as const;
for (const [what, text, settings] of TEXTS)
  t.test(what, async (t) => t.same(await read(t, { work: { 'clouds.yaml': text } }, 'acme'), settings));

const regions = `clouds:
  acme:
    auth: { username: alice }
    regions:
      - { name: one, values: { auth: { auth_url: 'https://one' } } }
      - { name: two, values: { auth: { auth_url: 'https://two' }, cacert: two.pem } }
      - three`;

t.test(
  'the values of a region count before those of its cloud; the first region is the default',
  async (t) => {
    const tree = { work: { 'clouds.yaml': regions } };
    const one = { username: 'alice', auth_url: 'https://one' };
    t.same(await read(t, tree, 'acme'), one);
    t.same(await read(t, tree, 'acme', { OS_REGION_NAME: '' }), one);
    const two = { username: 'alice', auth_url: 'https://two', cacert: 'two.pem' };
    t.same(await read(t, tree, 'acme', { OS_REGION_NAME: 'two' }), two);
    t.same(await read(t, tree, 'acme', { OS_REGION_NAME: 'three' }), { username: 'alice' });
    await t.rejects(read(t, tree, 'acme', { OS_REGION_NAME: 'four' }), {
      message: 'the cloud "acme" has no region "four"; it has one, two, three',
    });
  },
);

const profiles = `public-clouds:
  ours:
    auth: { auth_url: 'https://ours', user_domain_name: base }
    regions: [{ name: one, values: { cacert: one.pem } }]`;
const ofProfile = (word: string) => `clouds: { acme: { ${word}: ours, auth: { user_domain_name: acme } } }`;

t.test('a profile of clouds-public.yaml gives what the cloud does not say', async (t) => {
  const settings = { auth_url: 'https://ours', user_domain_name: 'acme', cacert: 'one.pem' };
  for (const word of ['profile', 'cloud']) {
    const files = { 'clouds.yaml': ofProfile(word), 'clouds-public.yaml': profiles };
    t.same(await read(t, inHome(files), 'acme'), settings);
  }
  const ownRegion = 'clouds: { acme: { profile: ours, region_name: two } }';
  t.strictSame(await read(t, inHome({ 'clouds.yaml': ownRegion, 'clouds-public.yaml': profiles }), 'acme'), {
    auth_url: 'https://ours',
    user_domain_name: 'base',
    region_name: 'two',
  });
});

t.test('a profile of the working folder is not used for a cloud of the user, nor the reverse', async (t) => {
  const unknown = { profile: 'ours', user_domain_name: 'acme' };
  const strange = {
    work: { 'clouds-public.yaml': profiles },
    ...inHome({ 'clouds.yaml': ofProfile('profile') }),
  };
  t.same(await read(t, strange, 'acme'), unknown);
  const own = {
    work: { 'clouds.yaml': ofProfile('profile') },
    ...inHome({ 'clouds-public.yaml': profiles }),
  };
  t.same(await read(t, own, 'acme'), unknown);
});

t.test('without a name, the only cloud is used; without a file there is none', async (t) => {
  t.same(await read(t, { work: { 'clouds.yaml': cloud('alice') } }), { username: 'alice' });
  t.equal(await read(t, {}), undefined);
});

t.test(
  'if the cloud is missing or not named, the error lists the clouds and where they were looked for',
  async (t) => {
    const two = { work: { 'clouds.yaml': 'clouds: { acme: {}, globex: {} }' } };
    for (const [tree, name, message] of [
      [two, undefined, /which cloud\? .*clouds\.yaml has acme, globex: name one with --os-cloud/],
      [two, 'initech', /no cloud "initech" in .*work\/clouds\.yaml; there is acme, globex/],
      [{}, 'acme', /looked in .*work, .*home\/\.config\/openstack, .*etc/],
    ] as const)
      await t.rejects(read(t, tree, name), { message });
  },
);

t.test(
  'an error in the file is reported by its place only, since the line may contain a password',
  async (t) => {
    const text = 'clouds:\n  acme:\n    auth: { password: "sesame" sesame }\n';
    await t.rejects(read(t, { work: { 'clouds.yaml': text } }, 'acme'), {
      message: /clouds\.yaml is no valid YAML \(line 3, column 32\): ((?!sesame).)+$/,
    });
  },
);

t.test('aliases that expand exponentially are refused', async (t) => {
  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
  for (const [under, name] of ['ab', 'bc', 'cd', 'de'])
    bomb.push(`${name}: &${name} [${Array(10).fill(`*${under}`).join(', ')}]`);
  await t.rejects(read(t, { work: { 'clouds.yaml': bomb.join('\n') } }, 'acme'), {
    message: /is no usable YAML/,
  });
});
