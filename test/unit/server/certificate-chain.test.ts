/** Chains of client certificates outside a handshake. */
import { X509Certificate } from 'node:crypto';
import t from 'tap';
import { includesAll, readAuthorities, rootOf } from '../../../src/server/certificate-chain.ts';
import { createIssuer, type Subject } from '../../support/tls/issuer.ts';

const BOB: Subject = [['CN', 'acme:bob']];
const company = createIssuer('company');
const branch = company.issuer('branch');
const foreign = createIssuer('foreign');

const rootAmong = (...chain: string[]) => rootOf(chain.map((each) => new X509Certificate(each)))?.subject;

t.test('the root of a chain is found only along signatures', async (t) => {
  const bob = branch.issue(BOB).cert;
  t.equal(rootAmong(bob, branch.cert, company.cert), new X509Certificate(company.cert).subject);
  t.equal(rootAmong(bob, branch.cert), undefined, 'an intermediate is no root');
  t.equal(rootAmong(bob), undefined, 'nor is the certificate itself');
  t.equal(rootAmong(bob, branch.cert, foreign.cert), undefined, 'another root');
  t.equal(rootAmong(bob, branch.cert, createIssuer('company').cert), undefined, 'the name with another key');
});

t.test('one file includes another in any order', async (t) => {
  const both = readAuthorities(`${foreign.cert}\n${company.cert}`);
  t.ok(includesAll(both, readAuthorities(company.cert)));
  t.ok(includesAll(readAuthorities(company.cert + foreign.cert), both));
  t.notOk(includesAll(readAuthorities(company.cert), both));
});
