import t from 'tap';
import { methodAdmission } from '../../../src/proxy/admission.ts';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';

const POD = '/api/v1/namespaces/default/pods/web';
const admit = (method: string, target: string) =>
  methodAdmission({ method, headers: [] }, readRequestInfo(method, target, { hasTenantsInPaths: true }));

t.test('a method without a verb is refused on the path of a resource', async (t) => {
  for (const method of ['OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'SEARCH', 'get'])
    t.throws(
      () => admit(method, POD),
      { code: 'MethodNotAllowed', allow: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] },
      method,
    );
  t.throws(() => admit('OPTIONS', '/api/v1/watch/pods'), { code: 'MethodNotAllowed' });
  t.throws(() => admit('OPTIONS', '/apis/pods.example/v1/namespaces/d/pods/web/proxy'), {
    code: 'MethodNotAllowed',
  });
});

t.test('OPTIONS connects to pods, services and nodes; other methods without a verb do not', async (t) => {
  for (const target of [
    `${POD}/proxy`,
    '/api/v1/namespaces/default/services/s/proxy/x',
    '/api/v1/nodes/n1/proxy/x',
    '/api/v1/proxy/nodes/n1/x',
  ]) {
    admit('OPTIONS', target);
    t.throws(() => admit('TRACE', target), { code: 'MethodNotAllowed' }, target);
  }
});
