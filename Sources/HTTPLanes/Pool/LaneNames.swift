/// Who looks names up for lanes. Users choose names whose servers never answer, so theirs are apart from the operator's.
struct LaneNames: Sendable {
    var operators: any NameLookup = ThreadedLookup(limit: 256)
    var users: any NameLookup = ThreadedLookup(limit: 256)
}
