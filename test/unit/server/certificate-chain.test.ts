/** Verification of certificate chains outside a handshake. */
import { X509Certificate } from 'node:crypto';
import t from 'tap';
import { includesAll, readAuthorities, verifyChain } from '../../../src/server/certificate-chain.ts';
import { createIssuer, issuerOf, type Subject } from '../../support/tls/issuer.ts';

const BOB: Subject = [['CN', 'acme:bob']];
const company = createIssuer('company');
const branch = company.issuer('branch');
const office = branch.issuer('office');
const foreign = createIssuer('foreign');

function verified(authorities: string, certificate: string, ...intermediates: string[]): boolean {
  const sent = intermediates.map((each) => new X509Certificate(each));
  return verifyChain(readAuthorities(authorities), new X509Certificate(certificate), sent, Date.now());
}

t.test('a chain to a CA is verified, with intermediates that were sent or configured', async (t) => {
  t.ok(verified(company.cert, company.issue(BOB).cert));
  const bob = office.issue(BOB).cert;
  t.ok(verified(company.cert, bob, office.cert, branch.cert));
  t.ok(verified(company.cert, bob, foreign.cert, branch.cert, office.cert), 'in any order');
  t.ok(verified(office.cert + branch.cert + company.cert, bob));
  t.ok(verified(foreign.cert + company.cert + branch.cert, bob, office.cert));
});

t.test('a chain with a missing link or to another CA is refused', async (t) => {
  const bob = office.issue(BOB).cert;
  t.notOk(verified(company.cert, bob));
  t.notOk(verified(company.cert, bob, office.cert));
  t.notOk(verified(foreign.cert, bob, office.cert, branch.cert));
  t.notOk(verified(foreign.cert, bob, office.cert, branch.cert, company.cert), 'a root that was only sent');
  t.notOk(verified(branch.cert, branch.issue(BOB).cert), 'a CA that is no root');
  t.notOk(verified(foreign.cert, createIssuer('acme:bob').cert), 'a self-signed certificate');
  t.notOk(verified(createIssuer('company').cert, company.issue(BOB).cert), 'the name with another key');
});

t.test('a certificate without the right to issue is no intermediate', async (t) => {
  const bob = company.issue(BOB);
  const forged = issuerOf(BOB, bob.key, bob.cert).issue([['CN', 'globex:admin']]).cert;
  t.notOk(verified(company.cert, forged, bob.cert));
});

t.test('an expired or not yet valid intermediate is refused', async (t) => {
  const brief = company.issuer('brief', { notAfter: new Date(Date.now() + 3_600_000) });
  const authorities = readAuthorities(company.cert);
  const bob = new X509Certificate(brief.issue(BOB).cert);
  const verifiedAt = (now: number) => verifyChain(authorities, bob, [new X509Certificate(brief.cert)], now);
  t.ok(verifiedAt(Date.now()));
  t.notOk(verifiedAt(Date.now() + 3_700_000));
  t.notOk(verifiedAt(Date.now() - 7 * 86_400_000));
});

t.test('CAs that sign each other in a circle do not cause an endless search', async (t) => {
  const circular = branch.crossSign(company);
  const bob = office.issue(BOB).cert;
  t.notOk(verified(foreign.cert, bob, office.cert, branch.cert, circular.cert));
  t.ok(verified(foreign.cert, bob, office.cert, branch.cert, circular.cert, foreign.crossSign(company).cert));
});

t.test('one file includes another in any order', async (t) => {
  const both = readAuthorities(`${foreign.cert}\n${company.cert}`);
  t.ok(includesAll(both, readAuthorities(company.cert)));
  t.ok(includesAll(readAuthorities(company.cert + foreign.cert), both));
  t.notOk(includesAll(readAuthorities(company.cert), both));
});
