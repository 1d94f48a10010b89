//go:build tools

// Package tools pins the Helm that the tests of the chart run, so that Go builds it from its module proxy.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
