/// What an operator asks by the API; all but the first three take the token.
package enum ConsoleCall: Sendable, Equatable {
    /// Whether the process works at all.
    case health
    /// Whether it can do all that it should; `withDetails` for those who may know names and reasons.
    case readiness(withDetails: Bool)
    case metrics
    /// The steps of an event, for one recipient or all of them. Both as the client wrote them.
    case explain(event: String, recipient: String?)
    /// The devices of an account, as the client wrote it, or all of them, from behind the one of that number on.
    case devices(account: String?, after: Int64?)
    case device(Int64)
    case removeDevice(Int64)
    /// A test push, in the mode of that name or in the device's own.
    case testDevice(Int64, mode: String?)
    case reload
}
