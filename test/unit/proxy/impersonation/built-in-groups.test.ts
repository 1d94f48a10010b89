import t from 'tap';
import { isServedByAPIServer } from '../../../../src/proxy/impersonation/built-in-groups.ts';
import { readRequestInfo } from '../../../../src/proxy/request/request-info.ts';
import { rows } from '../../../support/rows.ts';

const ANSWERS = rows(`
/api/v1/pods | API server
/apis/apps/v1/deployments | API server
/apis/apiextensions.k8s.io/v1/customresourcedefinitions | API server
/apis/apiregistration.k8s.io/v1/apiservices | API server
/apis/metrics.k8s.io/v1beta1/nodes | other
/api/v1/namespaces/web/pods/p/proxy/x | other
/version | API server
/api/v1 | API server
/apis/apps | API server
/apis/apps/v1/ | API server
/apis/metrics.k8s.io/v1beta1 | other
/metrics | other`);

t.test('only what the API server answers itself can be its word about Stonegate', async (t) => {
  for (const [path, by] of ANSWERS) {
    const info = readRequestInfo('GET', path, { hasTenantsInPaths: false });
    t.equal(isServedByAPIServer(info), by === 'API server', path);
  }
});
