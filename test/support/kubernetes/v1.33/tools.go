//go:build tools

// Package tools pins the API server of the oldest release that the tests run, so that Go builds them from its module proxy.
package tools

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
