/**
 * The portal's pages of members and teams in a real browser without scripts, in front of a real
 * kube-apiserver. Screenshots are written to `artefacts/portal`.
 */
import type { Page } from 'playwright-core';
import t from 'tap';
import { TENANT_CLUSTER_ROLES } from '../../src/rbac/cluster-roles.ts';
import { hasChromium, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { missingControllers } from '../support/kubernetes/programs.ts';
import { bind, grant, RBAC } from '../support/kubernetes/rbac.ts';
import { startTokenSite } from '../support/kubernetes/token-site.ts';
import { assertShown, openWindow, press, signInAs } from '../support/page/visit-page.ts';
import { rule } from '../support/policy-rule.ts';

const missing = hasChromium() ? missingControllers() : NO_CHROMIUM;

/** Reloads the page until it has that row; the index sees a change a moment later. */
function showsRow(page: Page, name: RegExp) {
  return eventually(async () => {
    await page.goto(page.url());
    return (await page.getByRole('row', { name }).count()) === 1;
  });
}

const unfold = (page: Page, label: string) => page.locator(`summary[aria-label="${label}"]`).click();

t.test('members and teams at the portal', { skip: missing }, async (t) => {
  const port = await freePort();
  const site = await startTokenSite(t, { portal: { port }, configuration: { members: {} } });
  const { kubernetes, testbed } = site;
  const { directory } = testbed.keystone;
  const project = directory.project('acme', 'web');
  for (const name of ['carol', 'dave']) directory.assign(directory.user('acme', name), 'member', { project });
  for (const [name, rules] of TENANT_CLUSTER_ROLES)
    await kubernetes.create(`${RBAC}/clusterroles`, { metadata: { name }, rules });
  for (const name of ['shop', 'lab', 'secret'])
    await kubernetes.create('/api/v1/namespaces', { metadata: { name } });
  const namespace = 'shop';
  const subjects = ['user:acme:alice'] as const;
  for (const place of ['shop', 'lab'])
    await bind(kubernetes, { namespace: place, name: 'owners', role: 'stonegate:manage', subjects });
  const everyone = ['group:stonegate:tenant:acme'] as const;
  await bind(kubernetes, { namespace, name: 'readers', role: 'stonegate:read', subjects: everyone });
  const rules = [rule('create', 'teams', 'stonegate.dev')];
  await grant(kubernetes, { name: 'team-makers', rules, subjects });

  const browser = await launchChromium();
  t.teardown(() => browser.close());
  const portal = `https://localhost:${port}`;
  const visit = async (user: string, path: string) => {
    const page = await openWindow(t, browser);
    await page.goto(`${portal}${path}`);
    await signInAs(page, user);
    return page;
  };
  const page = await visit('alice', '/members?namespace=shop');
  t.equal(page.url(), `${portal}/members?namespace=shop`, 'the user is back at the requested page');
  await showsRow(page, /^acme:alice User manage owner/);

  await t.test('a user chooses among the namespaces that they may see', async (t) => {
    await page.goto(`${portal}/members`);
    t.match(await page.textContent('h1'), 'Members of lab', 'the first one is shown');
    t.match(await page.getByLabel('Namespace').locator('option').allTextContents(), ['lab', 'shop']);
    await assertShown(t, browser, 'members-choose', await page.content());
    await page.getByLabel('Namespace').selectOption('shop');
    await press(page, 'Show');
    t.match(await page.textContent('h1'), 'Members of shop');
    await page.goto(`${portal}/members?namespace=secret`);
    const hidden = await page.textContent('main');
    await page.goto(`${portal}/members?namespace=nonsense`);
    t.equal(
      await page.textContent('main'),
      hidden,
      'a namespace that the user may not see looks like one that does not exist',
    );
  });

  await t.test('a manager grants, changes and removes a role', async (t) => {
    await page.goto(`${portal}/members?namespace=shop`);
    await page.getByLabel('Name', { exact: true }).fill('carol');
    await page.locator('#role').selectOption('edit');
    await press(page, 'Add the member');
    t.match(await page.getByRole('status').textContent(), 'carol has the role edit.');
    await showsRow(page, /^acme:carol User edit/);
    await assertShown(t, browser, 'members', await page.content());
    await unfold(page, 'Change or remove acme:carol');
    await page.locator('details[open]').getByLabel('Role').selectOption('control');
    await press(page, 'Change acme:carol');
    await showsRow(page, /^acme:carol User control/);
    await unfold(page, 'Change or remove acme:carol');
    await press(page, 'Remove acme:carol');
    t.match(await page.getByRole('status').textContent(), 'acme:carol is removed.');
    await eventually(async () => {
      await page.goto(page.url());
      return (await page.getByText('acme:carol').count()) === 0;
    });
  });

  await t.test('the page says what other access a removed member still has', async (t) => {
    await bind(kubernetes, { name: 'auditors', role: 'stonegate:read', subjects: ['user:acme:dave'] });
    await page.getByLabel('Name', { exact: true }).fill('dave');
    await page.locator('#role').selectOption('edit');
    await press(page, 'Add the member');
    await showsRow(page, /^acme:dave User edit/);
    await unfold(page, 'Change or remove acme:dave');
    await press(page, 'Remove acme:dave');
    t.match(await page.getByRole('status').textContent(), /is removed\. There is another way in: /);
  });

  await t.test('the last manager is removed only after a second confirmation', async (t) => {
    await unfold(page, 'Change or remove acme:alice');
    await press(page, 'Remove acme:alice');
    t.match(await page.title(), /^Error: /);
    t.match(await page.getByRole('alert').textContent(), 'is the last one in this namespace');
    await assertShown(t, browser, 'members-last', await page.content());
    await press(page, 'Do it anyway');
    t.match(await page.getByRole('status').textContent(), 'acme:alice is removed.');
  });

  await t.test('a user who only sees a namespace sees its members, but no form to change them', async (t) => {
    const reader = await visit('carol', '/members?namespace=shop');
    await showsRow(reader, /^stonegate:tenant:acme Group read/);
    t.equal(await reader.getByText('Change or remove').count(), 0);
  });

  await t.test('a user who follows an invitation signs in, sees it, and accepts it once', async (t) => {
    await page.goto(`${portal}/members?namespace=lab`);
    await page.locator('#role-invited').selectOption('edit');
    await press(page, 'Create a link');
    const link = (await page.getByRole('region', { name: 'The link' }).textContent()) ?? '';
    t.match(link, new RegExp(`^${portal}/invitation/sgi_\\w+$`));
    await assertShown(t, browser, 'members-invited', await page.content());
    await page.reload();
    t.notMatch(await page.content(), link);
    await showsRow(page, /^one user with the link role edit/);
    const secret = link.slice(link.lastIndexOf('/') + 1);
    const invited = await openWindow(t, browser);
    const sent: string[] = [];
    invited.on('request', (request) => {
      if (request.url() !== link) sent.push(request.url(), JSON.stringify(request.headers()));
    });
    await invited.goto(link);
    t.equal(new URL(invited.url()).pathname, '/login');
    t.match(await invited.textContent('main'), 'You are invited to the namespace lab, with the role edit.');
    await assertShown(t, browser, 'sign-in-invited', await invited.content());
    await signInAs(invited, 'dave');
    t.equal(invited.url(), `${portal}/invitation`);
    const offer = await invited.textContent('main');
    t.match(offer, /acme:alice invites you to the namespace lab, with the role edit/);
    t.match(offer, 'You accept as acme:dave');
    await assertShown(t, browser, 'invitation', await invited.content());
    await press(invited, 'Accept');
    const status = await invited.getByRole('status').textContent();
    t.match(status, 'You have the role edit in the namespace lab now.');
    await assertShown(t, browser, 'invitation-accepted', await invited.content());
    t.notMatch(sent.join(), secret);
    await showsRow(page, /^acme:dave User edit/);
    await invited.goto(link);
    t.match(await invited.textContent('h1'), 'There is no such invitation for you');
    const used = await invited.textContent('main');
    await invited.goto(`${portal}/invitation/nonsense`);
    t.equal(await invited.textContent('main'), used);
  });

  await t.test('a manager withdraws an invitation', async (t) => {
    await page.goto(`${portal}/members?namespace=lab`);
    await page.getByLabel('E-mail address').fill('carol@acme.example');
    await press(page, 'Create a link');
    await showsRow(page, /^carol@acme\.example/);
    await page.getByText('Withdraw').first().click();
    await press(page, /^Withdraw /);
    t.match(await page.getByRole('status').textContent(), 'is withdrawn');
    await eventually(async () => {
      await page.goto(page.url());
      return (await page.getByText('carol@acme.example').count()) === 0;
    });
  });

  await t.test('a user creates a team and changes who is in it', async (t) => {
    await page.goto(`${portal}/teams`);
    t.match(await page.textContent('main'), 'You are in no team.');
    await page.getByLabel('Name', { exact: true }).fill('Web');
    await press(page, 'Create the team');
    t.match(await page.title(), /^Error: /);
    await page.getByLabel('Name', { exact: true }).fill('web');
    await page.getByLabel('What is it for?').fill('the web shop');
    await press(page, 'Create the team');
    t.match(await page.getByRole('status').textContent(), 'The team web is created.');
    await unfold(page, 'Add someone web');
    await page.getByLabel('User').fill('carol');
    await press(page, 'Add to web');
    t.equal(await page.getByRole('row', { name: /^acme:carol member/ }).count(), 1);
    await assertShown(t, browser, 'teams', await page.content());
    const member = await visit('carol', '/teams');
    t.match(await member.textContent('main'), 'stonegate:team:acme:web');
    t.equal(await member.getByText('Add someone').count(), 0, 'a member cannot change the team');
    await page
      .getByRole('row', { name: /^acme:carol/ })
      .getByText('Remove')
      .first()
      .click();
    await press(page, 'Remove acme:carol');
    await member.goto(`${portal}/teams`);
    t.match(await member.textContent('main'), 'You are in no team.');
  });
});
