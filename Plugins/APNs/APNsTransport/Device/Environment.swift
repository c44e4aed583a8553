/// Which of Apple's servers know a device: those for apps from the store and from TestFlight, or those for development
/// builds.
enum Environment: UInt8, Sendable {
    case production
    case sandbox

    var other: Environment { self == .production ? .sandbox : .production }
}
