// Reads lines of "QUANTITY<TAB>QUANTITY" and prints the canonical forms of the first and of the sum, and the order of the two:
// quantities.tsv is its output for random quantities. Run it in a module that requires k8s.io/apimachinery:
// go run quantities.go < lines
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		first, second, _ := strings.Cut(lines.Text(), "\t")
		one, other := resource.MustParse(first), resource.MustParse(second)
		order := one.Cmp(other)
		sum := one.DeepCopy()
		sum.Add(other)
		// A quantity remembers the text it was read from until it is changed.
		one.Add(resource.Quantity{})
		fmt.Printf("%s\t%s\t%s\t%s\t%d\n", first, second, one.String(), sum.String(), order)
	}
}
