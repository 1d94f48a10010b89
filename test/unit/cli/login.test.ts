import t from 'tap';
import { login } from '../../../src/cli/login.ts';
import { printedIO } from '../../support/printed-io.ts';
import { eachRow } from '../../support/rows.ts';

await eachRow(
  `
  | one of --keystone and --oidc is required
  --keystone --oidc | one of --keystone and --oidc is required
  --keystone --no-such-option | --no-such-option
  --oidc word | unexpected argument "word"
  --keystone --issuer-url https://issuer | --issuer-url goes with --oidc
  --oidc --os-cloud acme | --os-cloud goes with --keystone`,
  (line, stderr) =>
    t.test(`login ${line} is a usage error`, async (t) => {
      const { io, printed } = printedIO();
      t.equal(await login(line.split(' ').filter(Boolean), io), 2);
      t.match(printed, { stdout: '', stderr });
    }),
);
