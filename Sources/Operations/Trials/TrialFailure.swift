/// Why something cannot be tried, as a sentence for the person who asked.
package struct TrialFailure: Error, CustomStringConvertible {
    package let description: String
}
