package placement

import "time"

// rampSteps is in how many equal steps a member takes over its share.
const rampSteps = 10

// Ramp returns the weight that counts for a member that joined age ago and takes over
// its share gradually: weight/10 at once, and a tenth more after each ninth of over,
// until it is weight when age has reached over. A negative age counts as 0; with over
// zero or below the weight counts at once.
//
// It moves in steps so that nodes whose ages for the member differ a little agree
// nearly always on its weight, and so on who owns what.
func Ramp(weight float64, age, over time.Duration) float64 {
	if over <= 0 || age >= over {
		return weight
	}
	step := over / (rampSteps - 1)
	if over%(rampSteps-1) != 0 {
		step++ // so that the last one is not before over
	}
	return weight * float64(1+max(age, 0)/step) / rampSteps
}
