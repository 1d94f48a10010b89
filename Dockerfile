# Builds with all dependencies, runs with none but those of production. The image runs as an ordinary user and writes
# nowhere: mount configuration and secrets, and let the root file system be read-only.

# Pinned by the digest of its index, which covers every platform: a tag can be moved. Change both together.
FROM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS base

# No package may run a script of its own while it is installed, in any stage.
FROM base AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
RUN npm run build && npm run sbom

FROM base AS dependencies
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM base
ENV NODE_ENV=production
WORKDIR /opt/stonegate
COPY --from=dependencies /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY package.json LICENSE ./
USER 65532:65532
EXPOSE 8443 9090
# /livez of the admin listener. Where admin.bind has another port, say so in ADMIN_PORT. Whoever publishes the port sets
# admin.bind to 0.0.0.0:9090.
ENV ADMIN_PORT=9090
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ADMIN_PORT}/livez`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# V8's default depends on the memory there is: 1 MB a semi-space at 512 MB, where a request costs much more, and 64 where
# there is plenty, from which nothing is gained (docs/performance.md). The rest of the heap may have 70 % of the container's
# memory limit, since most of what SECURITY.md lists under "Memory" is in it; V8's default is half.
ENTRYPOINT ["node", "--max-semi-space-size=8", "--max-old-space-size-percentage=70", "dist/main.js"]
CMD ["serve", "--config", "/etc/stonegate/stonegate.yaml"]
