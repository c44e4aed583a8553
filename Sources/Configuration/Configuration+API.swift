import Console

extension Configuration {
    /// The HTTP server for operators, their tools and monitoring.
    package struct API: Sendable {
        /// The file with the token, made on the first run when it is missing.
        package var tokenFile: String
        /// Where the file is named; 0 where no file was read.
        package var place = (line: 0, column: 0)
        /// Where it listens and what one client may do.
        package var console = ConsoleConfiguration()

        package init(tokenFile: String) {
            self.tokenFile = tokenFile
        }
    }
}
