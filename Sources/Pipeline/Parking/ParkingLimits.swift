/// How long and how much may wait for context.
struct ParkingLimits {
    /// In milliseconds; 0: nothing waits.
    var wait: Int64
    var events: Int
    /// Of events as they came.
    var bytes = 64 << 20
}
