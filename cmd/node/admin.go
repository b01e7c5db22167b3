package main

type adminServer struct{}

func startAdmin(n *Node) (*adminServer, error) { return nil, nil }
func (a *adminServer) close()                  {}
func (a *adminServer) address() string         { return "" }
