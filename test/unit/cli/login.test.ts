import t from 'tap';
import { login } from '../../../src/cli/login.ts';

async function run(...argv: string[]) {
  let stdout = '';
  let stderr = '';
  const code = await login(argv, {
    stdout: (text) => {
      stdout += text;
    },
    stderr: (text) => {
      stderr += text;
    },
  });
  return { code, stdout, stderr };
}

t.test('--help shows both ways', async (t) => {
  const { code, stdout } = await run('--help');
  t.equal(code, 0);
  for (const option of ['--os-cloud', '--issuer-url', '--force', '--cache-dir']) t.match(stdout, option);
  t.match(await run('--keystone', '--help'), { code: 0, stdout: /--os-cloud/ });
});

t.test('the user must choose the login method', async (t) => {
  const required = { code: 2, stdout: '', stderr: /one of --keystone and --oidc is required/ };
  t.match(await run(), required);
  t.match(await run('--keystone', '--oidc'), required);
});

t.test('what it does not know is wrong usage', async (t) => {
  for (const way of ['--keystone', '--oidc']) {
    t.match(await run(way, '--no-such-option'), { code: 2, stdout: '', stderr: /--no-such-option/ });
    t.match(await run(way, 'word'), { code: 2, stdout: '', stderr: /unexpected argument "word"/ });
  }
});

t.test('an option of the other way is wrong usage', async (t) => {
  t.match(await run('--keystone', '--issuer-url', 'https://issuer'), { code: 2, stdout: '' });
  t.match(await run('--oidc', '--os-cloud', 'acme'), { code: 2, stdout: '' });
});
