/// What stands behind the API: the running router. Called from any thread, many calls at a time.
package protocol ConsoleBackend: Sendable {
    func answer(_ call: ConsoleCall) async -> ConsoleAnswer
}
