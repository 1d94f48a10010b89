// Reads lines of "METHOD<TAB>TARGET" and prints how kube-apiserver's RequestInfoFactory reads each: request-info.tsv is its
// output for random request lines. Run it in a module that requires k8s.io/apiserver: go run request-info.go < lines
package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

func main() {
	factory := request.RequestInfoFactory{
		APIPrefixes:          sets.NewString("api", "apis"),
		GrouplessAPIPrefixes: sets.NewString("api"),
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		method, target, _ := strings.Cut(lines.Text(), "\t")
		raw := method + " " + target + " HTTP/1.1\r\nHost: h\r\n\r\n"
		req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
		if err != nil {
			panic(err)
		}
		info, err := factory.NewRequestInfo(req)
		if err != nil {
			panic(err)
		}
		fmt.Println(strings.Join([]string{method, target, info.Verb, info.Namespace, info.Resource, info.Subresource, info.Name}, "\t"))
	}
}
