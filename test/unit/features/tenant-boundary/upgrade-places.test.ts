import fc from 'fast-check';
import t from 'tap';
import { createUpgradePlaces } from '../../../../src/features/tenant-boundary/upgrade-places.ts';
import type { TenancyMode } from '../../../../src/tenancy/tenancy-mode.ts';
import { refusalOf as refusedBy } from '../../../support/authorized.ts';
import { linesOf } from '../../../support/rows.ts';

/** The refusal of a request to upgrade; undefined if it is allowed. */
const refusalOf = (
  method: string,
  target: string,
  upgrade: string | undefined,
  watchEvents: TenancyMode['watchEvents'] = 'asTheyAre',
) => refusedBy(createUpgradePlaces({ watchEvents }), target, { method, upgrade });

const POD = '/api/v1/namespaces/ns/pods/p';

t.test('a connection to a pod, a service or a node may be upgraded to WebSocket and SPDY', async (t) => {
  for (const target of linesOf(`
    ${POD}/exec?command=sh
    ${POD}/attach
    ${POD}/portforward
    ${POD}/proxy/ws
    /api/v1/tenants/acme/namespaces/ns/services/s/proxy
    /api/v1/nodes/n1/proxy/x`)) {
    t.equal(await refusalOf('GET', target, 'websocket'), undefined, target);
    t.equal(await refusalOf('POST', target, 'spdy/3.1'), undefined, target);
    t.match(await refusalOf('POST', target, 'websocket'), { code: 'RequestMalformed' }, target);
  }
});

t.test('a watch or a log may be upgraded to WebSocket, but not to SPDY', async (t) => {
  for (const target of linesOf(`
    /api/v1/namespaces/ns/pods?watch=1
    /apis/apps/v1/watch/namespaces/ns/deployments
    ${POD}/log?follow=true`)) {
    t.equal(await refusalOf('GET', target, 'websocket'), undefined, target);
    t.match(await refusalOf('GET', target, 'spdy/3.1'), { code: 'RequestMalformed', http: 400 }, target);
  }
});

t.test('an upgrade of any other request is refused', async (t) => {
  for (const target of linesOf(`
    /version
    /api/v1/namespaces/ns/pods
    ${POD}
    /api/v1/namespaces/ns/pods/exec
    /api/v1/namespaces/ns/configmaps/c/proxy
    /apis/example.com/v1/namespaces/ns/pods/p/exec`))
    for (const method of ['GET', 'POST'])
      for (const protocol of ['websocket', 'spdy/3.1'])
        t.match(await refusalOf(method, target, protocol), { code: 'RequestMalformed' }, target);
});

t.test('no other protocol is tunnelled anywhere', async () => {
  const protocol = fc
    .oneof(
      fc.string(),
      fc.constantFrom('h2c', 'HTTP/2.0', 'tls/1.0', 'constructor', '__proto__', 'toString', 'spdy/3', ''),
    )
    .filter((name) => name !== 'websocket' && name !== 'spdy/3.1');
  const target = fc.constantFrom(`${POD}/exec`, `${POD}/proxy`, '/api/v1/pods?watch=1', '/version');
  await fc.assert(
    fc.asyncProperty(protocol, target, fc.constantFrom('GET', 'POST'), async (name, path, method) => {
      return (await refusalOf(method, path, name)) !== undefined;
    }),
  );
});

t.test(
  'where watches are filtered, the upgrade of one is a 503, after which clients ask by plain GET',
  async (t) => {
    for (const target of [
      '/api/v1/namespaces/ns/pods?watch=1',
      '/api/v1/watch/namespaces/ns/secrets/mine',
      '/api/v1/watch/namespaces/ns/pods/p/log',
      '/api/v1/watch/namespaces/ns/pods/p/exec',
    ])
      t.match(
        await refusalOf('GET', target, 'websocket', 'filtered'),
        { code: 'UpgradeUnavailable', http: 503 },
        target,
      );
    t.equal(await refusalOf('GET', `${POD}/log?follow=true`, 'websocket', 'filtered'), undefined);
    t.equal(await refusalOf('GET', `${POD}/exec`, 'websocket', 'filtered'), undefined);
  },
);

t.test('a path with the legacy proxy prefix is not upgraded', async (t) => {
  for (const protocol of ['websocket', 'spdy/3.1'])
    t.match(await refusalOf('GET', '/api/v1/proxy/nodes/n1/exec/ns/p/c', protocol), {
      code: 'RequestMalformed',
    });
});
