package config

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"orbweaver/core/crawl"
)

// input is a value as a source gave it: text of the command line or the
// environment, or a node of a YAML file. The methods refuse the wrong shape.
type input struct {
	text string
	node *yaml.Node // nil for text
}

func textInput(s string) input { return input{text: s} }

// nodeInput follows an alias to what it stands for.
func nodeInput(n *yaml.Node) input {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return input{node: n}
}

// scalar is the value as one word or text, whatever its YAML type.
func (in input) scalar() (string, error) {
	if in.node == nil {
		if in.text == "" {
			return "", errors.New("is empty: give a value")
		}
		return in.text, nil
	}
	if err := in.want(yaml.ScalarNode, "one value"); err != nil {
		return "", err
	}
	if in.node.Value == "" {
		return "", errors.New("is empty: give a value")
	}
	return in.node.Value, nil
}

// textScalar is the value as text; a YAML number or boolean is refused, for
// YAML may have read it as something else than was meant (1e3, 0x10, 007).
func (in input) textScalar() (string, error) {
	if in.node == nil {
		return in.text, nil
	}
	if err := in.want(yaml.ScalarNode, "text"); err != nil {
		return "", err
	}
	if tag := in.node.ShortTag(); tag != "!!str" {
		return "", fmt.Errorf("%s is %s, not text: put it in quotes", quote(in.node.Value), describe(in.node))
	}
	return in.node.Value, nil
}

// words is the value as a list: a YAML list, or text with commas between.
func (in input) words() ([]string, error) {
	if in.node == nil || in.node.Kind == yaml.ScalarNode {
		text := in.text
		if in.node != nil {
			if err := in.want(yaml.ScalarNode, "a list"); err != nil {
				return nil, err
			}
			text = in.node.Value
		}
		return splitList(text)
	}
	if err := in.want(yaml.SequenceNode, "a list"); err != nil {
		return nil, err
	}
	out := make([]string, 0, len(in.node.Content))
	for _, n := range in.node.Content {
		s, err := nodeInput(n).scalar()
		if err != nil {
			return nil, fmt.Errorf("entry %d of the list %w", len(out)+1, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// splitList is nil for blank text; an empty entry is refused.
func splitList(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	out := strings.Split(text, ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
		if out[i] == "" {
			return nil, fmt.Errorf("entry %d of the list is empty: take out the comma or give it a value", i+1)
		}
	}
	return out, nil
}

// mapping is the value as pairs of texts in the order given.
func (in input) mapping() ([]crawl.Header, error) {
	if in.node == nil {
		return headersOfJSON(in.text)
	}
	if err := in.want(yaml.MappingNode, "a mapping"); err != nil {
		return nil, err
	}
	out := make([]crawl.Header, 0, len(in.node.Content)/2)
	for i := 0; i+1 < len(in.node.Content); i += 2 {
		name, err := nodeInput(in.node.Content[i]).scalar()
		if err != nil {
			return nil, fmt.Errorf("name %d of the mapping %w", i/2+1, err)
		}
		val, err := nodeInput(in.node.Content[i+1]).textScalar()
		if err != nil {
			return nil, fmt.Errorf("value of %s: %w", quote(name), err)
		}
		out = append(out, crawl.Header{Name: name, Value: val})
	}
	return out, nil
}

// want refuses a node of another kind, no value at all, and tags outside YAML's core.
func (in input) want(kind yaml.Kind, what string) error {
	n := in.node
	if n.Kind != kind {
		return fmt.Errorf("is %s: write %s", describe(n), what)
	}
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return fmt.Errorf("has no value: write %s, or take the line out for the default", what)
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp", "!!seq", "!!map":
		return nil
	default:
		return fmt.Errorf("has the tag %s, which is not supported: take it out", quote(tag))
	}
}

// describe names a node's type for messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
	default:
		return "no value"
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	case "!!timestamp":
		return "a date"
	case "!!null":
		return "no value"
	default:
		return "text"
	}
}
