import t from 'tap';
import { requestClass } from '../../../../src/proxy/request/request-class.ts';
import { readRequestInfo } from '../../../../src/proxy/request/request-info.ts';
import { openMode } from '../../../support/fake-pipeline.ts';
import { rows } from '../../../support/rows.ts';

const POD = '/api/v1/namespaces/default/pods/web';

const CLASSES = rows(`
GET | ${POD} | get
HEAD | ${POD} | get
GET | /version | get
POST | /version | get
DELETE | /version | get
GET | ${POD}/log | get
GET | /api/v1/pods | list
GET | /api/v1/pods?watch=true | watch
GET | /api/v1/watch/pods | watch
POST | /api/v1/namespaces/default/pods | write
PUT | ${POD} | write
PATCH | ${POD} | write
DELETE | ${POD} | write
DELETE | /api/v1/namespaces/default/pods | write
POST | ${POD}/exec?command=sh | connect
GET | ${POD}/exec?command=sh | connect
POST | ${POD}/attach | connect
POST | ${POD}/portforward | connect
GET | ${POD}/proxy/metrics | connect
GET | /api/v1/proxy/namespaces/default/pods/web | connect
GET | ${POD}/log?follow=true | connect`);

t.test('D519 each request has a class, which determines its cost and its bill', async (t) => {
  for (const [method, target, expected] of CLASSES)
    t.equal(requestClass(readRequestInfo(method, target, openMode.facts)), expected, `${method} ${target}`);
});
