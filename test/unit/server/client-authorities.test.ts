/** Whether a chain leads from a certificate to an authority that counts now. */
import { X509Certificate } from 'node:crypto';
import t from 'tap';
import { include, readAuthorities, vouchFor } from '../../../src/server/client-authorities.ts';
import { createIssuer, issuerOf, type Subject } from '../../support/tls/issuer.ts';

const BOB: Subject = [['CN', 'acme:bob']];
const company = createIssuer('company');
const branch = company.issuer('branch');
const office = branch.issuer('office');
const stranger = createIssuer('stranger');

function vouched(authorities: string, certificate: string, ...others: string[]): boolean {
  const sent = others.map((each) => new X509Certificate(each));
  return vouchFor(readAuthorities(authorities), new X509Certificate(certificate), sent, Date.now());
}

t.test('the authority itself, or a chain to it through what was sent or what is configured', async (t) => {
  t.ok(vouched(company.cert, company.issue(BOB).cert));
  const bob = office.issue(BOB).cert;
  t.ok(vouched(company.cert, bob, office.cert, branch.cert));
  t.ok(vouched(company.cert, bob, stranger.cert, branch.cert, office.cert), 'in any order');
  t.ok(vouched(office.cert + branch.cert + company.cert, bob));
  t.ok(vouched(stranger.cert + company.cert + branch.cert, bob, office.cert));
});

t.test('a chain with a link missing, or one that ends at somebody else', async (t) => {
  const bob = office.issue(BOB).cert;
  t.notOk(vouched(company.cert, bob));
  t.notOk(vouched(company.cert, bob, office.cert));
  t.notOk(vouched(stranger.cert, bob, office.cert, branch.cert));
  t.notOk(vouched(stranger.cert, bob, office.cert, branch.cert, company.cert), 'a root that was only sent');
  t.notOk(vouched(branch.cert, branch.issue(BOB).cert), 'an authority that is no root');
  t.notOk(vouched(stranger.cert, createIssuer('acme:bob').cert), 'its own');
  t.notOk(vouched(createIssuer('company').cert, company.issue(BOB).cert), 'the name with another key');
});

t.test('who may not issue', async (t) => {
  const bob = company.issue(BOB);
  const forged = issuerOf(BOB, bob.key, bob.cert).issue([['CN', 'globex:admin']]).cert;
  t.notOk(vouched(company.cert, forged, bob.cert));
});

t.test('what has run out or has not begun', async (t) => {
  const brief = company.issuer('brief', { notAfter: new Date(Date.now() + 3_600_000) });
  const authorities = readAuthorities(company.cert);
  const bob = new X509Certificate(brief.issue(BOB).cert);
  const at = (now: number) => vouchFor(authorities, bob, [new X509Certificate(brief.cert)], now);
  t.ok(at(Date.now()));
  t.notOk(at(Date.now() + 3_700_000));
  t.notOk(at(Date.now() - 7 * 86_400_000));
});

t.test('authorities that go round in a circle come to an end', async (t) => {
  const ring = branch.crossSign(company);
  const bob = office.issue(BOB).cert;
  t.notOk(vouched(stranger.cert, bob, office.cert, branch.cert, ring.cert));
  t.ok(vouched(stranger.cert, bob, office.cert, branch.cert, ring.cert, stranger.crossSign(company).cert));
});

t.test('one file includes another whatever their order', async (t) => {
  const both = readAuthorities(`${stranger.cert}\n${company.cert}`);
  t.ok(include(both, readAuthorities(company.cert)));
  t.ok(include(readAuthorities(company.cert + stranger.cert), both));
  t.notOk(include(readAuthorities(company.cert), both));
});
