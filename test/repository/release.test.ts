/** The workflows in `.github`, and what the release scripts build. docs/release.md describes them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { actionlint, helm, missing } from '../support/kubernetes/programs.ts';

interface Workflow {
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Job {
  readonly permissions?: object;
  readonly environment?: string;
  readonly uses?: string;
  readonly steps?: readonly { readonly uses?: string; readonly run?: string }[];
}

const files = globSync('.github/workflows/*.yml').sort();
const jobs = files.flatMap((file) => {
  const workflow: Workflow = parse(readFileSync(file, 'utf8'));
  return Object.entries(workflow.jobs).map(([name, job]) => ({ name: `${file} ${name}`, workflow, job }));
});

t.test('actionlint finds nothing wrong in the workflows', { skip: missing(actionlint()) }, async (t) => {
  const { status, stdout } = spawnSync(actionlint(), ['-no-color', ...files], { encoding: 'utf8' });
  t.equal(status, 0, stdout);
});

t.test('every job declares its permissions, and every action is pinned by commit and version', async (t) => {
  t.ok(jobs.length > 5);
  for (const { name, workflow, job } of jobs) {
    t.same(workflow.permissions, {}, name);
    t.ok(job.permissions, name);
  }
  const used = files.flatMap((file) => readFileSync(file, 'utf8').match(/uses: .*/g) ?? []);
  t.same(
    used.filter((line) => !/ (?:\.\/\S+|\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/.test(line)),
    [],
  );
});

t.test(
  'what publishes waits for the environment, and no package runs a script where a release is built',
  async (t) => {
    const release = jobs.filter(({ name }) => name.startsWith('.github/workflows/release.yml'));
    const publishing = release.filter(({ job }) => Object.values(job.permissions ?? {}).includes('write'));
    t.ok(publishing.length > 3);
    for (const { name, job } of publishing) t.equal(job.environment, 'release', name);
    const installs = release.flatMap(
      ({ job }) => job.steps?.flatMap(({ run }) => run?.match(/^npm (?:ci|install)\b.*/) ?? []) ?? [],
    );
    t.same([...new Set(installs)], ['npm ci --ignore-scripts']);
  },
);

t.test('each step is one line, and every release script is called', async (t) => {
  const steps = jobs.flatMap(({ job }) => job.steps?.flatMap(({ run }) => run ?? []) ?? []);
  t.same(
    steps.filter((run) => run.includes('\n')),
    [],
  );
  const scripts = globSync('scripts/release/*').sort();
  // `publish-files` and `check-tag` call `changes`.
  const called = ['scripts/release/changes', ...steps.flatMap((run) => run.match(/^scripts\/\S+/) ?? [])];
  t.same([...new Set(called)].sort(), scripts);
});

t.test(
  'the files of a release name its repository and match their checksums',
  { skip: missing(helm()) },
  async (t) => {
    const folder = t.testdir({ clone: {}, bin: {} });
    const clone = join(folder, 'clone');
    symlinkSync(helm(), join(folder, 'bin', 'helm'));
    const path = [join(folder, 'bin'), resolve('node_modules/.bin'), process.env.PATH].join(delimiter);
    const run = (command: string, ...args: readonly string[]) =>
      execFileSync(
        'env',
        ['-u', 'NODE_OPTIONS', '-u', 'NODE_V8_COVERAGE', `PATH=${path}`, command, ...args],
        {
          encoding: 'utf8',
          cwd: clone,
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      );
    const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard']);
    writeFileSync(join(folder, 'files'), tracked);
    execFileSync('sh', ['-c', `tar -cf - -T ${folder}/files | tar -xf - -C ${clone}`]);
    symlinkSync(resolve('node_modules'), join(clone, 'node_modules'));
    const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));
    const tag = `v${version}`;

    t.throws(() => run('scripts/release/check-tag', `${tag}-other`), {
      message: /package\.json has the version/,
    });
    const changelog = readFileSync('CHANGELOG.md', 'utf8').replace(`\n## [${version}]`, '\n## [0.0.0]');
    writeFileSync(join(clone, 'CHANGELOG.md'), changelog);
    t.throws(() => run('scripts/release/check-tag', tag), { message: /CHANGELOG\.md has no section/ });
    writeFileSync(
      join(clone, 'CHANGELOG.md'),
      changelog.replace(/^## \[.*\].*$/m, `## [${version}] - 2026-01-01`),
    );
    run('scripts/release/check-tag', tag);

    run('scripts/release/set-origin', 'Example/Stonegate', tag);
    run('scripts/release/build-files', 'artefacts');
    const platform = `linux-${process.arch}`;
    run('scripts/release/build-executables', 'artefacts', platform);
    run('sh', '-c', 'cd artefacts && sha256sum --check --strict SHA256SUMS');
    const built = globSync('*', { cwd: join(clone, 'artefacts') }).sort();
    const [bill, chart, npm] = [`${version}.cdx.json`, `chart-${version}.tgz`, `npm-${version}.tgz`].map(
      (name) => `stonegate-${name}`,
    );
    const executable = `stonegate-${version}-${platform}`;
    const licence = `stonegate-${version}-node-LICENSE`;
    t.same(built, ['SHA256SUMS', bill, executable, licence, chart, npm].sort());
    t.equal(run(`artefacts/${executable}`, 'version'), `${version}\n`);
    t.match(run(`artefacts/${executable}`, 'whoami', '--help'), 'Usage: stonegate whoami');

    const values = 'config/charts/stonegate/ci/shared.yaml';
    const on = ['--set', 'prometheusRule.enabled=true'];
    const rendered = run('helm', 'template', 'stonegate', `artefacts/${chart}`, '--values', values, ...on);
    t.match(rendered, `image: ghcr.io/example/stonegate:${version}\n`);
    const runbook = `https://github.com/Example/Stonegate/blob/${tag}/docs/operations.md`;
    t.match(rendered, `runbook_url: ${runbook}#stonegateabsent\n`);
    mkdirSync(join(folder, 'npm'));
    run('tar', '-xzf', `artefacts/${npm}`, '-C', join(folder, 'npm'));
    const repository = { type: 'git', url: 'git+https://github.com/Example/Stonegate.git' };
    t.match(JSON.parse(readFileSync(join(folder, 'npm/package/package.json'), 'utf8')), {
      version,
      repository,
    });
  },
);
