"""Transform of the demo, as a user would write it: adds the nearest depot to each order."""

from math import asin, cos, radians, sin, sqrt

from penstock import DataError, Record, transform

EARTH = 6371.0  # km, radius
PLACES = """
Amsterdam 52.37 4.90, Antwerp 51.22 4.40, Athens 37.98 23.73, Barcelona 41.39 2.17, Belgrade 44.79 20.45,
Berlin 52.52 13.41, Bilbao 43.26 -2.93, Bordeaux 44.84 -0.58, Bratislava 48.15 17.11, Bucharest 44.43 26.10,
Budapest 47.50 19.04, Copenhagen 55.68 12.57, Dublin 53.35 -6.26, Gdansk 54.35 18.65, Glasgow 55.86 -4.25,
Gothenburg 57.71 11.97, Hamburg 53.55 9.99, Helsinki 60.17 24.94, Krakow 50.06 19.94, Lisbon 38.72 -9.14,
Ljubljana 46.06 14.51, London 51.51 -0.13, Lyon 45.76 4.84, Madrid 40.42 -3.70, Marseille 43.30 5.37,
Milan 45.46 9.19, Munich 48.14 11.58, Naples 40.85 14.27, Oslo 59.91 10.75, Paris 48.86 2.35,
Porto 41.15 -8.61, Prague 50.08 14.44, Riga 56.95 24.11, Seville 37.39 -5.98, Sofia 42.70 23.32,
Stockholm 59.33 18.07, Tallinn 59.44 24.75, Turin 45.07 7.69, Vienna 48.21 16.37, Vilnius 54.69 25.28
"""
DEPOTS = {
    name: (radians(float(latitude)), radians(float(longitude)))
    for name, latitude, longitude in (place.split() for place in PLACES.split(","))
}


@transform
def nearest(record: Record) -> Record | None:
    """Adds the nearest depot, and its distance in kilometers."""
    order = record.value
    try:
        here = radians(order["latitude"]), radians(order["longitude"])
    except (KeyError, TypeError):
        raise DataError("the value has no latitude and longitude") from None
    distances = {name: distance(here, there) for name, there in DEPOTS.items()}
    depot = min(distances, key=distances.__getitem__)
    return record.replace(value={**order, "depot": depot, "km": round(distances[depot])})


def distance(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the distance between two places, in kilometers along the surface (haversine); coordinates are in radians."""
    north, east = other[0] - one[0], other[1] - one[1]
    half = sin(north / 2) ** 2 + cos(one[0]) * cos(other[0]) * sin(east / 2) ** 2
    return 2 * EARTH * asin(sqrt(half))
