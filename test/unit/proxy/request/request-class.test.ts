/** The class of each kind of request, which operators limit and bill by. */
import t from 'tap';
import { requestClass } from '../../../../src/proxy/request/request-class.ts';
import { readRequestInfo } from '../../../../src/proxy/request/request-info.ts';

const PODS = '/api/v1/namespaces/default/pods';

for (const [expected, ...requests] of [
  ['get', `GET ${PODS}/web`, `GET ${PODS}/web/log`, 'GET /healthz', 'GET /apis', 'POST /other'],
  ['list', `GET ${PODS}`, `HEAD ${PODS}`],
  ['watch', `GET ${PODS}?watch=true`, 'GET /api/v1/watch/pods'],
  ['write', `POST ${PODS}`, `PUT ${PODS}/web`, `PATCH ${PODS}/web`, `DELETE ${PODS}/web`, `DELETE ${PODS}`],
  ['connect', `GET ${PODS}/web/exec`, `POST ${PODS}/web/attach`, `POST ${PODS}/web/portforward`],
  ['connect', `GET ${PODS}/web/proxy/`, `POST ${PODS}/web/proxy/a`, `GET ${PODS}/web/log?follow=true`],
] as const)
  t.test(`${expected}: ${requests.join(', ')}`, async (t) => {
    for (const request of requests) {
      const [method = '', target = ''] = request.split(' ');
      const info = readRequestInfo(method, target, { readsTenantFromPath: true });
      t.equal(requestClass(info), expected, request);
    }
  });
