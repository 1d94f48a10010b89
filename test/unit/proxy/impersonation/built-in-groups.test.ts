import t from 'tap';
import { isServedByAPIServer } from '../../../../src/proxy/impersonation/built-in-groups.ts';
import { readRequestInfo } from '../../../../src/proxy/request/request-info.ts';
import { eachRow } from '../../../support/rows.ts';

t.test('a response is the API server’s own only for its built-in groups and documents', (t) =>
  eachRow(
    `
    /api/v1/pods | yes
    /apis/apps/v1/deployments | yes
    /apis/apiextensions.k8s.io/v1/customresourcedefinitions | yes
    /apis/apiregistration.k8s.io/v1/apiservices | yes
    /apis/metrics.k8s.io/v1beta1/nodes | no
    /api/v1/namespaces/web/pods/p/proxy/x | no
    /version | yes
    /api/v1 | yes
    /apis/apps | yes
    /apis/apps/v1/ | yes
    /apis/metrics.k8s.io/v1beta1 | no
    /metrics | no`,
    (path = '', isOwn = '') => {
      const info = readRequestInfo('GET', path, { hasTenantsInPaths: false });
      t.equal(isServedByAPIServer(info), isOwn === 'yes', path);
    },
  ),
);
