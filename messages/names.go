package messages

// Well-known actor names of a node.
const (
	SchedulerName = "scheduler"
	DomainsName   = "domains"
	PipelineName  = "pipeline"
)
