/// Holds a record against everything that has to hold, whatever went wrong.
package enum Judge {
    package static func judge(_ record: ChaosRecord) -> Verdict {
        let evidence = Evidence(record)
        var verdict = Verdict()
        checkBooks(evidence, &verdict)
        checkEnds(evidence, &verdict)
        checkOrder(evidence, &verdict)
        checkAnswers(evidence, &verdict)
        checkMessages(evidence, &verdict)
        checkRepeats(evidence, &verdict)
        return verdict
    }
}
