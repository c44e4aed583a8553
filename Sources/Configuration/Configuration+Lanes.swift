import HTTPLanes

extension Configuration {
    /// How outgoing HTTP behaves.
    package var lanes: HTTPLanes.Configuration {
        var lanes = HTTPLanes.Configuration(
            caFile: http.caFile,
            allowPrivate: http.allowPrivate,
            proxy: http.proxy
        )
        if let connections = http.connectionsPerOrigin { lanes.lanes.connectionsPerOrigin = connections }
        return lanes
    }
}
