/// What a rules file may call a signal.
package enum SignalSchema {
    /// A regular expression of JSON Schema. `batch` is kept for what a summary is sent as.
    package static let pattern = "^(?!batch$)[a-z0-9_-]{1,32}$"
}
